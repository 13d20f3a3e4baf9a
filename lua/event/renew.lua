-- event.renew: leases that an issuer still holds restart.
-- Uses: lib/store lib/entity meta taken held
-- KEYS: meta taken leases
-- ARGV: now, fence, (sequence)*
-- Reply: OK, for each 1 when it is still the issuer's, else 0; or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'grace_from', 'grace_until' }) then return { NO_RULES } end
read_clock()
write_even_if_full()
local sequences = { unpack(ARGV, 3) }
local leases, reply = {}, { OK }
local entries, ends = held(sequences, tonumber(ARGV[2]))
for i, is_held in ipairs(entries) do
  reply[i + 1] = is_held and 1 or 0
  if is_held then
    -- Never less than it had: its issuer renews by the lease that the claim returned.
    local lease = math.max(now + m.lease, tonumber(ends[i]))
    leases[#leases + 1], leases[#leases + 2] = lease, sequences[i]
  end
end
if #leases > 0 then call('ZADD', LEASES, unpack(leases)) end
save({ 'last' })
return reply
