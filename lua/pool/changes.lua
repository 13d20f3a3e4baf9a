-- pool.changes: what operators changed, newest first. Writes nothing.
-- Uses: lib/store lib/list_changes
-- KEYS: changes
-- ARGV: now, before, limit
--       (the id below which the list begins, empty: at the newest)
-- Reply: OK, then each entry (lib/changes.lua)
-- Codes: OK

return list_changes(CHANGES)
