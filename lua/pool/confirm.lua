-- pool.confirm: an operator has looked at the pool after a change of the store's primary, and lets
-- money move again.
-- Uses: lib/store lib/entity lib/changes rules sums clock primary
-- KEYS: meta changes ledger
-- ARGV: now, by
--       (the name of the operator's key, empty: no operator)
-- Reply: OK, 1 when it was unconfirmed, else 0, or 2 when it stays so, since the primary cannot be
--        seen; or NO_RULES
-- Codes: OK NO_RULES

if not load() then return { NO_RULES } end
write_even_if_full()
read_watched_clock()
local was = is_unconfirmed()
-- The next call would find it changed again.
if was and not primary() then return { OK, 2 } end
if was then
  -- Its time continues from where it paused.
  m.offset, m.tick, m.unconfirmed = now - wall, now, 0
  save({ 'offset', 'tick', 'unconfirmed' })
  local after = { 'unconfirmed', false, 'balance', m.balance }
  log_change(CHANGES, ARGV[2], 'pool.confirm', { 'unconfirmed', true }, after)
end
know_primary()
return { OK, was and 1 or 0 }
