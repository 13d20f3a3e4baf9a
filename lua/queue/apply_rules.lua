-- queue.apply_rules: the rules of a scheduler's file, written where they differ from the newest.
-- Uses: lib/store lib/entity meta life withheld rules write_rules
-- KEYS: meta held
-- ARGV: now, epoch, file_revision, file, over_revision, over, (rule, value)*
--       (lib/write_rules.lua, and the scheduler's file)
-- Reply: OK, changed (1 or 0), then of the file and of the overrides the revision and the packed
--        part
-- Codes: OK

read_parts()
local rules = file and cmsgpack.unpack(file) or {}
local differs = put_rules(rules, 7)
-- A file at revision 0 only seeded the store.
if differs or (file_revision or 0) == 0 then
  file_revision, file = next_revision(file_revision or 0), cmsgpack.pack(rules)
end
return write_parts()
