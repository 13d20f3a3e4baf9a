-- The log of what operators change: adds entries, and keeps the newest. Needs lib/store.lua.
-- KEYS: the log; a script names it. ARGV: now, by store.lua. Reply: none; a part gives
-- `log_change`.
--
-- An entry is its id as a double, then a MessagePack array: the time (µs of Redis time), the name
-- of the operator's key, the operation, the ticket (0: none), the fields before and the fields
-- after. Fields are alternating names and values. For overrides, override_change.lua adds one more
-- array.
local CHANGES_KEPT = 1000
-- Ids are unique among the logs of an entity: a limit has a log for each of its 16 shards.
local ID_STEP = 16

local function pack_change(...) return cmsgpack.pack({ wall, ... }) end

-- Adds what `pack_change` made, with an id above all others. Call it after the first write of the
-- script: then it also succeeds if Redis is full.
local function log_packed(log, shard, packed)
  local newest = tonumber(call('ZRANGE', log, -1, -1, 'WITHSCORES')[2]) or 0
  local id = math.max(wall - wall % ID_STEP + shard, newest + ID_STEP)
  call('ZADD', log, string.format('%.0f', id), struct.pack('>d', id) .. packed)
  call('ZREMRANGEBYRANK', log, 0, -CHANGES_KEPT - 1)
end

-- Logs what the call of an operator has changed. `by` is empty for every other caller.
local function log_change(log, by, operation, before, after, ticket)
  if by == '' then return end
  log_packed(log, 0, pack_change(by, operation, ticket or 0, before, after))
end
