-- limit.changes: what operators changed in one shard of a limit, newest first. Writes nothing.
-- Uses: lib/store lib/list_changes
-- KEYS: (log)*
--       (the log of the shard's changes)
-- ARGV: now, before, limit
--       (only changes with smaller ids, empty: all)
-- Reply: OK, then each entry (lib/changes.lua)
-- Codes: OK

return list_changes(KEYS[1])
