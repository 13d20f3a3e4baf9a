-- pool.changes: what operators changed, newest first. Writes nothing.
-- Uses: lib/store lib/list_changes
-- KEYS: changes
-- ARGV: now, before, limit
--       (only changes with smaller ids, empty: all)
-- Reply: OK, then each entry (lib/changes.lua)
-- Codes: OK

return list_changes(CHANGES)
