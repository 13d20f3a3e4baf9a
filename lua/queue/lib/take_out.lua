-- Places leave a set. Those of `waiting` are counted. So a reader sees when a version took some out
-- that does not count them (departures.lua beside lib).
-- KEYS: meta waiting. ARGV: none. Reply: none. Needs lib/entity.lua.
local function take_out(set, ids)
  if #ids == 0 then return end
  write_even_if_full()
  local count = call('ZREM', set, unpack(ids))
  if set == WAITING then call('HINCRBY', META, 'taken_out', count) end
end
