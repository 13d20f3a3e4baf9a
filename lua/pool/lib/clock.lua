-- Queue time of a pool. It pauses while the pool waits to be confirmed, so that no hold ends that
-- no caller can settle. Needs lib/entity.lua and rules.lua.
-- KEYS: meta. ARGV: now, by store.lua. Reply: none; a part gives `is_unconfirmed`,
-- `read_pool_clock`.

-- Whether no money moves until an operator confirms.
local function is_unconfirmed() return m.on_failover == ON_FAILOVER_HOLD and m.unconfirmed == 1 end

local function read_pool_clock()
  local last = m.last
  read_clock()
  if is_unconfirmed() then now, m.last = last, last end
end
