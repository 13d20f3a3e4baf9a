-- queue.apply_rules: the rules of a scheduler's file, written where they differ from the newest.
-- Uses: lib/store lib/entity lib/rule_parts meta create_empty withheld rules write_rules
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address
-- ARGV: now, epoch, file_revision, file, over_revision, over, (rule, value)*
--       (lib/write_rules.lua, and the scheduler's file)
-- Reply: OK, changed (1 or 0), then of the file and of the overrides the revision and the packed
--        part
-- Codes: OK

read_parts()
apply_file(7)
return write_parts()
