-- pool.seed_rules: rules for a store that holds none, or older ones than the caller has seen. The
-- caller's own file counts only if no other is known, and then at revision 0. The first rules
-- create the pool, with the funds of its file.
-- Uses: lib/store lib/entity lib/rule_parts lib/file_rules rules sums clock primary opening create
-- KEYS: meta holds ledger
-- ARGV: now, epoch, file_revision, file, (rule, value)*
--       (lib/rule_parts.lua, and the caller's file)
-- Reply: OK, changed (1 or 0), then the revision of the file and the packed file
-- Codes: OK

read_file()
seed_file(5)
local reply = write_file()
create()
return reply
