-- Removes places from a set. Those of `waiting` are counted. Version 0.2.0 does not count them, so
-- departures.lua notices when it has removed some.
-- KEYS: meta waiting. ARGV: none. Reply: none. Needs lib/entity.lua.
local function take_out(set, ids)
  if #ids == 0 then return end
  write_even_if_full()
  local count = call('ZREM', set, unpack(ids))
  if set == WAITING then call('HINCRBY', META, 'taken_out', count) end
end
