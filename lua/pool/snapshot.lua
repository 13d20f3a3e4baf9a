-- pool.snapshot: a pool as a whole, and the rules in force. Ended holds are taken back first.
-- Uses: lib/store lib/entity lib/rules_reply rules sums clock holds primary
-- KEYS: meta holds ledger
-- ARGV: now, file_revision
--       (the newest that the caller has seen)
-- Reply: OK, doubles: balance, held, paid, funded, holds, 1 while it is unconfirmed, failovers,
--        holds that ended unsettled; the revision of the file and, when the caller has not seen it,
--        the packed file, else an empty text; the rules in force, name and value by turns; or
--        NO_RULES
-- Codes: OK NO_RULES

if not load() then return { NO_RULES } end
read_watched_clock()
if sweep_holds() > 0 then save_sums() end
local revision, file = unseen('file', ARGV[2])
local unconfirmed = is_unconfirmed() and 1 or 0
local reply = {
  OK,
  struct.pack('>dddddddd', m.balance, m.held, m.paid, m.funded, call('ZCARD', HOLDS), unconfirmed,
    m.failovers or 0, m.holds_expired or 0),
  revision, file,
}
append_rules(reply)
return reply
