-- pool.settle: pays an amount of a hold, and frees the rest. One that has ended is paid while the
-- balance covers it. Ended holds are taken back first.
-- Uses: lib/store lib/entity rules sums clock holds primary
-- KEYS: meta holds ledger (hold)*
-- ARGV: now, amount
-- Reply: OK, doubles: a code, the amount settled, the amount held, the balance; or NO_RULES
-- Codes: OK NO_RULES REPEATED AGAIN UNCONFIRMED NO_HOLD IS_SETTLED IS_CANCELLED IS_EXPIRED EXCEEDS

if not load() then return { NO_RULES } end
write_even_if_full()
read_watched_clock()
local _, more = sweep_holds()
local hold, amount, code = read_hold(KEYS[4]), tonumber(ARGV[2]), OK

if not hold then
  code = NO_HOLD
elseif hold.state == SETTLED then
  code = hold.settled == amount and REPEATED or IS_SETTLED
elseif hold.state == CANCELLED then
  code = IS_CANCELLED
elseif amount > hold.amount then
  code = EXCEEDS
elseif is_unconfirmed() then
  code = UNCONFIRMED
else
  local released = free(hold)
  if hold.state == EXPIRED and released > 0 then
    record(EXPIRED, 0, released, hold.id)
    released = 0
  end
  if amount <= released + m.balance then
    record(SETTLED, amount, released, hold.id)
    hold.state, hold.settled = SETTLED, amount
    write_hold(hold)
  else
    code = more and AGAIN or IS_EXPIRED
  end
end
save_sums()
local settled, held = hold and hold.settled or 0, hold and hold.amount or 0
return { OK, struct.pack('>dddd', code, settled, held, m.balance) }
