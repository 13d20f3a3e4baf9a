-- event.give_back: claims that an issuer gives back, first in line again in their old order; no
-- attempt is counted.
-- Uses: lib/store lib/entity meta taken held wake
-- KEYS: meta taken leases returned
-- ARGV: now, wake, fence, (sequence)*
--       (the channel of the issuers)
-- Reply: OK, how many were still the issuer's; or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'grace_from', 'grace_until' }) then return { NO_RULES } end
read_clock()
write_even_if_full()
local sequences, mine = { unpack(ARGV, 4) }, {}
for i, entry in ipairs(held(sequences, tonumber(ARGV[3]))) do
  if entry then mine[#mine + 1] = sequences[i] end
end
save({ 'last' })
if #mine > 0 then
  call('ZREM', LEASES, unpack(mine))
  call('ZADD', RETURNED, unpack(by_sequence(mine)))
  wake()
end
return { OK, #mine }
