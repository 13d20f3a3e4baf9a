-- The rules in the reply of a snapshot.
-- KEYS: meta. ARGV: now, by store.lua. Reply: none; a part gives `unseen`, `append_rules`. Needs
-- entity.lua.

-- The revision of a part, and the packed part, or an empty text where the caller has seen it.
local function unseen(name, seen)
  local part = call('HMGET', META, name .. '_revision', name)
  local revision = tonumber(part[1])
  return revision, revision > tonumber(seen) and part[2] or ''
end

-- Appends the name and the value of each rule in force.
local function append_rules(reply)
  for _, rule in ipairs(RULES) do
    local value = m[rule]
    local text = type(value) == 'number' and string.format('%.0f', value) or value
    reply[#reply + 1], reply[#reply + 2] = rule, text
  end
end
