-- pool.cancel: ends a hold, and pays nothing, nor late. Ended holds are taken back first.
-- Uses: lib/store lib/entity rules sums clock holds primary
-- KEYS: meta holds ledger (hold)*
-- ARGV: now
-- Reply: OK, doubles: a code, the amount settled, the amount held, the balance; or NO_RULES
-- Codes: OK NO_RULES UNCONFIRMED NO_HOLD IS_SETTLED

if not load() then return { NO_RULES } end
write_even_if_full()
read_watched_clock()
sweep_holds()
local hold, code = read_hold(KEYS[4]), OK
if not hold then
  code = NO_HOLD
elseif hold.state == SETTLED then
  code = IS_SETTLED
elseif hold.state ~= CANCELLED then
  if is_unconfirmed() then
    code = UNCONFIRMED
  else
    -- One that has ended as well: after the answer that it is cancelled it must not be settled
    -- late.
    local released = free(hold)
    if released > 0 then
      record(hold.state == EXPIRED and EXPIRED or CANCELLED, 0, released, hold.id)
    end
    hold.state = CANCELLED
    write_hold(hold)
  end
end
save_sums()
local settled, held = hold and hold.settled or 0, hold and hold.amount or 0
return { OK, struct.pack('>dddd', code, settled, held, m.balance) }
