-- What every call of a queue needs besides lib/entity.lua.
-- KEYS: meta. ARGV: none. Reply: none; a part gives `counter`.
local ceil = math.ceil

-- Statuses that are only in records: waiting, out of reach of the bitmaps; active, in a short
-- session (session.lua).
local S_FAR, S_SHORT = 5, 6

-- A counter of the meta hash, which most calls do not need.
local function counter(field)
  if not m[field] then m[field] = tonumber(call('HGET', META, field)) or 0 end
  return m[field]
end
