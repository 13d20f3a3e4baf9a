-- event.seed_rules: rules for a store that holds none, or older ones than the caller has seen. The
-- caller's own file counts only if no other is known, and then at revision 0. The first ones
-- give the event its stock; one whose meta hash alone is gone goes on with what is left.
-- Uses: lib/store lib/entity lib/rule_parts lib/file_rules meta sums create
-- KEYS: meta applications line taken leases returned retry dead
-- ARGV: now, epoch, file_revision, file, (rule, value)*
--       (lib/rule_parts.lua, and the caller's file)
-- Reply: OK, changed (1 or 0), then the revision of the file and the packed file
-- Codes: OK

read_file()
seed_file(5)
local reply = write_file(fixed_rules())
create()
return reply
