-- A clock of an entity's own that never goes back: the store's clock plus an offset that is kept
-- with the entity. Needs store.lua.
-- KEYS: none. ARGV: now, by store.lua. Reply: none; a part gives `forward`.

-- The time now, and the offset that holds from now on: where the store's clock lies before the
-- latest time that was written, it leapt back, and goes on from there.
local function forward(offset, latest)
  local now = wall + offset
  if now >= latest then return now, offset end
  return latest, offset + latest - now
end
