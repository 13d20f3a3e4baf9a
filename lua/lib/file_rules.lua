-- Writing rules that only a file sets. What is in force is the file's, over the defaults.
-- KEYS: meta. ARGV: by rule_parts.lua. Reply: by `write_file`. Needs rule_parts.lua.

local function settle_rules(fixed)
  local rules, force = cmsgpack.unpack(file.packed), DEFAULT_RULES
  for rule in pairs(force) do
    local value = rules[rule]
    if value then force[rule] = tonumber(value) or value end
  end
  for rule, value in pairs(fixed or {}) do force[rule] = value end
  force.known = KNOWN_RULES
  call('HSET', META, 'force', cmsgpack.pack(force))
  for rule, value in pairs(force) do m[rule] = value end
end

-- Writes the file where the store holds an older one, or none; the reply. What is `fixed` is in
-- force whatever the file says.
local function write_file(fixed)
  local changed = is_newer(file)
  if changed then
    give_epoch()
    write_part(file)
    settle_rules(fixed)
  end
  return { OK, changed and 1 or 0, file.revision, file.packed }
end
