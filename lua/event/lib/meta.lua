-- The meta hash of an event.
-- KEYS: meta. ARGV: none. Reply: none; a part gives `load`. Needs lib/entity.lua.

-- Loads the rules in force and these further numbers into `m`, 0 where there is none. False when
-- the store holds no rules for this event.
local function load(fields)
  if not load_meta(fields) then return false end
  for i = 1, #fields do m[fields[i]] = m[fields[i]] or 0 end
  return true
end
