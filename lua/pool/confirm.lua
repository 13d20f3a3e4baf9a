-- pool.confirm: an operator has looked at the pool after a change of the store's primary, and lets
-- money move again.
-- Uses: lib/store lib/entity rules sums primary
-- KEYS: meta ledger
-- ARGV: now
-- Reply: OK, 1 when it was unconfirmed, else 0; or NO_RULES
-- Codes: OK NO_RULES

if not load() then return { NO_RULES } end
read_clock()
write_even_if_full()
local was = is_unconfirmed() and 1 or 0
m.unconfirmed = 0
save({ 'unconfirmed' })
know_primary()
return { OK, was }
