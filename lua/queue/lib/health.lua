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

-- Loads them, where schedulers have ever named a target.
local function load_health()
  if not m.health_state then return end
  for i, value in ipairs(call('HMGET', META, unpack(HEALTH_FIELDS))) do
    m[HEALTH_FIELDS[i]] = tonumber(value) or 0
  end
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
  if adapts() then m.batch = m.adaptive_batch end
  m.whole_batch = m.batch
  local back, rule = quarters(), m.batch > 0 and 'batch' or 'capacity'
  if back < QUARTERS and m[rule] > 0 then
    m[rule] = math.max(1, math.floor(m[rule] * back / QUARTERS))
  end
end

-- Places promoted since the target began to be probed anew: the next come `open_for` after the last
-- of them.
local function probed()
  return now - m.probed_at < m.open_for and m.probed or 0
end

-- How many places may be promoted to find out how the target is.
local function probes_left()
  return health() == PROBING and m.probes - probed() or math.huge
end

local function spend_probes(n)
  if health() ~= PROBING then return end
  m.probed, m.probed_at = probed() + n, now
  save({ 'probed', 'probed_at' })
end
