-- queue.override_rules: rules that an operator puts in force until an end. What they have in common
-- with older overrides replaces these; the others keep their own ends.
-- Uses: lib/store lib/entity lib/rule_parts lib/repeated lib/changes meta create_empty withheld
--       rules write_rules override_change
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address (call)*
--       (the last key names this call)
-- ARGV: now, epoch, file_revision, file, over_revision, over, till, of, latest, by, (rule, value)*
--       (lib/write_rules.lua; the end in µs, 0 none; the revision that must be in force, empty:
--       any; the latest time of the call, in µs of Redis time; the name of the operator's key,
--       empty: no operator; an empty value removes an override)
-- Reply: OK, changed (1 or 0; 2: another revision than `of` is in force, and nothing was changed;
--        3: the call is too late, and nothing was changed), then of the file and of the overrides
--        the revision and the packed part, and the revision as a text: the one that the call has
--        made, perhaps in an earlier sending, else the one in force; or NO_RULES
-- Codes: OK NO_RULES

read_parts()
if not file.revision then return { NO_RULES } end
local till, overrides = tonumber(ARGV[7]), cmsgpack.unpack(over.packed)

-- The end of an override changes the rules in force, but writes no revision.
local function in_force()
  local count = 0
  for _, rule in ipairs(RULES) do
    if overrides[rule] and holds(overrides[rule]) then count = count + 1 end
  end
  return count
end

local function revision()
  return string.format('%.0f-%.0f-%.0f', file.revision, over.revision, in_force())
end

local function unchanged(code, made)
  local of = made or revision()
  return { OK, code, file.revision, file.packed, over.revision, over.packed, of }
end

local key, latest = KEYS[#KEYS], tonumber(ARGV[9])
local is_repeat, made = repeated(key, '', -math.huge)
if is_repeat then return unchanged(0, made) end
if wall > latest then return unchanged(3) end
if ARGV[8] ~= '' and ARGV[8] ~= revision() then return unchanged(2) end
local differs, changed = false, {}
for i = 11, #ARGV, 2 do
  local rule, value = ARGV[i], ARGV[i + 1]
  local before = overrides[rule]
  changed[rule] = before or false
  if value == '' then
    differs = differs or before ~= nil
    overrides[rule] = nil
  elseif not before or before[1] ~= value or before[2] ~= till then
    differs = true
    overrides[rule] = { value, till }
  end
end
if differs then
  over.revision, over.packed = next_revision(over.revision), cmsgpack.pack(overrides)
end
local reply = write_parts()
reply[#reply + 1] = revision()
write_even_if_full()
remember(key, revision(), wall, OPERATOR_CALL_TTL)
if ARGV[10] ~= '' then log_overrides(changed, overrides) end
return reply
