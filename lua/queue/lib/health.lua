-- Promotion that follows the health of a target: the batch in force, the places that may find out
-- whether the target has recovered, and the way back to the whole pace. Needs state.lua.
--
-- In fallback nothing is promoted (state.lua). While the target is probed at most `probes` places
-- are in any `open_for`. From then on a quarter of the pace is in force, a half, three quarters,
-- and all of it, for an `open_for` each.
local HEALTH_FIELDS = {
  'health_version', 'probes', 'open_for', 'probed', 'probed_at', 'ramp_at', 'adaptive_batch',
  'adaptive_seen',
}

local MOST_LOTS = 16

local lots = {} -- the last times at which places were promoted as probes, and how many

-- Loads them, where schedulers have ever named a target.
local function load_health()
  if not m.health_state then return end
  local values = call('HMGET', META, 'lots', unpack(HEALTH_FIELDS))
  for i, field in ipairs(HEALTH_FIELDS) do m[field] = tonumber(values[i + 1]) or 0 end
  if values[1] then lots = cmsgpack.unpack(values[1]) end
  -- The version before has promoted since.
  if m.probed_at > (lots[#lots - 1] or 0) then lots = { m.probed_at, m.probed } end
end

-- Whether schedulers name the bounds of an adaptive batch.
local function is_adaptive()
  return m.health_state and now - m.adaptive_seen <= STEP
end

-- Whether it is in force: an operator's override of the batch goes before it.
local function adapts()
  return is_adaptive() and m.overrides_batch ~= 1
end

-- Puts the batch in force in place of the rule's, and so much of the pace as has come back: of the
-- batch, or where there is none of the capacity.
local function follow_health()
  if not m.health_state then return end
  m.rule_batch, m.rule_capacity = m.batch, m.capacity
  if adapts() then m.batch = m.adaptive_batch end
  local back, rule = quarters(), m.batch > 0 and 'batch' or 'capacity'
  if back < QUARTERS and m[rule] > 0 then
    m[rule] = math.max(1, math.floor(m[rule] * back / QUARTERS))
  end
end

-- Places that are probes: promoted less than `open_for` ago, or less than that before another. Each
-- scheduler counts by its own `open_for`.
local function probed()
  local count, after = 0, now
  for i = #lots - 1, 1, -2 do
    if after - lots[i] >= m.open_for then break end
    count, after = count + lots[i + 1], lots[i]
  end
  return count
end

-- How many places may be promoted to find out how the target is.
local function probes_left()
  return health() == BREAKER_HALF_OPEN and m.probes - probed() or math.huge
end

local function spend_probes(n)
  if health() ~= BREAKER_HALF_OPEN then return end
  lots[#lots + 1], lots[#lots + 2] = now, n
  if #lots > 2 * MOST_LOTS then
    -- The oldest two count as one, of the later.
    lots[4] = lots[4] + lots[2]
    table.remove(lots, 1)
    table.remove(lots, 1)
  end
  m.lots, m.probed, m.probed_at = cmsgpack.pack(lots), probed(), now
  save({ 'lots', 'probed', 'probed_at' })
end
