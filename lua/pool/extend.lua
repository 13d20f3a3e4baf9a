-- pool.extend: lets a hold last for the whole `hold_ttl` from now.
-- Uses: lib/store lib/entity rules sums clock holds primary
-- KEYS: meta holds ledger (hold)*
-- ARGV: now
-- Reply: OK, doubles: a code, the amount (what was settled, if it was), µs until it
--        ends, the balance; or NO_RULES
-- Codes: OK NO_RULES NO_HOLD IS_SETTLED IS_CANCELLED IS_EXPIRED

if not load() then return { NO_RULES } end
write_even_if_full()
read_watched_clock()
sweep_holds()
local hold, code = read_hold(KEYS[4]), OK
local refusals = { [SETTLED] = IS_SETTLED, [CANCELLED] = IS_CANCELLED, [EXPIRED] = IS_EXPIRED }
if not hold then
  code = NO_HOLD
elseif refusals[hold.state] then
  code = refusals[hold.state]
else
  -- Never less than it had: a shorter `hold_ttl` is for the holds to come.
  hold.ends = math.max(hold.ends, now + m.hold_ttl)
  local member = member_of(hold.id, hold.amount)
  call('ZADD', HOLDS, 'XX', string.format('%.0f', hold.ends), member)
  write_hold(hold)
end
save_sums()
local amount, ends = hold and hold.amount or 0, hold and hold.ends or now
if code == IS_SETTLED then amount = hold.settled end
return { OK, struct.pack('>dddd', code, amount, math.max(ends - now, 0), m.balance) }
