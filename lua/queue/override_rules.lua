-- queue.override_rules: rules that an operator puts in force until an end. What they have in common
-- with older overrides replaces these; the others keep their own ends.
-- Uses: lib/store lib/entity lib/rule_parts meta create_empty withheld rules write_rules
-- KEYS: meta waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4} revoked
--       polled:{0-1} departures outlines joined_from per_address
-- ARGV: now, epoch, file_revision, file, over_revision, over, till, expected, (rule, value)*
--       (lib/write_rules.lua; the end in µs, 0 none; the revisions that must be in force, of the
--       file and of the overrides as FILE-OVERRIDES, empty: any; an empty value takes an override
--       back)
-- Reply: OK, changed (1 or 0; 2: other revisions are in force, and nothing was changed), then of
--        the file and of the overrides the revision and the packed part; or NO_RULES
-- Codes: OK NO_RULES

read_parts()
if not file.revision then return { NO_RULES } end
local revisions = string.format('%.0f-%.0f', file.revision, over.revision)
if ARGV[8] ~= '' and ARGV[8] ~= revisions then
  return { OK, 2, file.revision, file.packed, over.revision, over.packed }
end
local till, overrides = tonumber(ARGV[7]), cmsgpack.unpack(over.packed)
for i = 9, #ARGV, 2 do
  overrides[ARGV[i]] = ARGV[i + 1] ~= '' and { ARGV[i + 1], till } or nil
end
over.revision, over.packed = next_revision(over.revision), cmsgpack.pack(overrides)
return write_parts()
