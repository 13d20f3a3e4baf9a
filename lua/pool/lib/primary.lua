-- Whether the store's primary is still the one that the pool knows. A replica that takes over, and
-- a server that starts again, has another replication id, and may lack the latest movements. Needs
-- clock.lua.
-- KEYS: meta. ARGV: now, by store.lua. Reply: none; a part gives `know_primary`,
-- `watch_primary`, `read_watched_clock`.

-- Nil if the Redis user has no permission for INFO.
local function primary()
  local try = redis.pcall
  local info = try('INFO', 'replication')
  return type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or nil
end

local function know_primary()
  call('HSET', META, 'primary', primary() or '')
end

-- Looks, and counts a change; whether there was one.
local function watch_primary()
  local found = primary()
  if found and found == call('HGET', META, 'primary') then return false end
  -- With `hold` an unknown primary counts as a change: an operator must look at it.
  if not found and m.on_failover ~= ON_FAILOVER_HOLD then return false end
  m.failovers = (m.failovers or 0) + 1
  m.unconfirmed = m.on_failover == ON_FAILOVER_HOLD and 1 or 0
  save({ 'failovers', 'unconfirmed' })
  -- While it waits to be confirmed, it is the same change.
  if m.unconfirmed == 0 then call('HSET', META, 'primary', found) end
  return true
end

-- Reads queue time after a look at the primary, for calls that move money.
local function read_watched_clock()
  if m.on_failover == ON_FAILOVER_HOLD and m.unconfirmed ~= 1 then watch_primary() end
  read_pool_clock()
end
