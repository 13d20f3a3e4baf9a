-- queue.seed_rules: rules for a store that holds none, or older ones than the caller has seen. The
-- caller's own file counts only if no other is known, and then at revision 0. The first rules
-- create the queue: what is left of one whose meta hash is lost is unlinked.
-- Uses: lib/store lib/entity lib/rule_parts meta create_empty withheld rules write_rules
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address
-- ARGV: now, epoch, file_revision, file, over_revision, over, (rule, value)*
--       (lib/write_rules.lua, and the caller's file)
-- Reply: OK, changed (1 or 0), then of the file and of the overrides the revision and the packed
--        part
-- Codes: OK

read_parts()
seed_file(7)
return write_parts()
