-- A batch that follows what becomes of the calls of those who were let in. Needs health.lua.
--
-- Each interval, once enough outcomes were reported since the last step: while the aim is held and
-- the batch was used up it rises by a twentieth of what lies between its bounds, and when the aim
-- was missed it is cut to four fifths. While the target is not healthy, the pace is still coming
-- back, promotion is paused or an operator overrides the batch there are no steps, and the outcomes
-- of that time do not count.
--
-- Schedulers with different aims share the batch and the step: latencies are kept by their bounds,
-- and each scheduler splits them by its own.

local ADAPTIVE_FIELDS = {
  'adaptive_min', 'adaptive_max', 'adaptive_reason', 'adaptive_at', 'adaptive_used',
  'adaptive_successes', 'adaptive_failures', 'adaptive_quick', 'adaptive_slow',
}

-- When they were written, then how many took at most how long.
local LATENCIES, LATENCIES_SIZE = '>' .. string.rep('d', 15), 120

-- Those within the aim, and those past it; without an aim none of both.
local function split(latencies, bounds)
  local quick, slow = 0, 0
  for i = 1, bounds > 0 and #latencies or 0 do
    if i <= bounds then quick = quick + latencies[i] else slow = slow + latencies[i] end
  end
  return quick, slow
end

-- From now on only what comes after these totals counts.
local function count_from(totals)
  m.adaptive_at, m.adaptive_used = now, 0
  for _, kind in ipairs({ 'successes', 'failures', 'quick', 'slow' }) do
    m['adaptive_' .. kind] = totals[kind]
  end
  m.adaptive_latencies = struct.pack(LATENCIES, now, unpack(totals.latencies, 1, 14))
  save({ 'adaptive_latencies' })
end

-- What was reported since the last step.
local function reported_since(totals)
  local since, kept = {}, m.adaptive_latencies or ''
  for _, kind in ipairs({ 'successes', 'failures', 'quick', 'slow' }) do
    since[kind] = totals[kind] - m['adaptive_' .. kind]
  end
  local latencies = #kept == LATENCIES_SIZE and { struct.unpack(LATENCIES, kept) } or {}
  -- The version before has split them by its own aim.
  if table.remove(latencies, 1) == m.adaptive_at then
    latencies[15] = nil
    local quick, slow = split(latencies, totals.bounds)
    since.quick, since.slow = totals.quick - quick, totals.slow - slow
  end
  return since
end

-- The batch that the outcomes since the last step call for, and why; nothing when they are too few.
local function judge(totals, success_target, min_samples)
  local since = reported_since(totals)
  if math.min(since.successes, since.failures, since.quick, since.slow) < 0 then
    -- The store has forgotten the target, unless a later reading of another scheduler came first.
    if now - m.adaptive_at > STEP then count_from(totals) end
    return
  end
  local outcomes, batch = since.successes + since.failures, m.adaptive_batch
  if outcomes < min_samples then return end
  local cut = math.max(m.adaptive_min, math.floor(batch * 4 / 5))
  if since.successes * 1000000 < success_target * outcomes then return cut, STEP_CUT_SUCCESS end
  if 20 * since.quick < 19 * (since.quick + since.slow) then return cut, STEP_CUT_P95 end
  if m.adaptive_used == 0 then return batch, STEP_UNUSED end
  if batch == m.adaptive_max then return batch, STEP_HIGHEST end
  local rise = math.max(1, math.floor((m.adaptive_max - m.adaptive_min) / 20))
  return math.min(m.adaptive_max, batch + rise), STEP_RAISED
end

-- The batch between these bounds, with a step when one is due; why there was one, 0 for none.
-- `bounds`: the latencies of so many are within the aim. `totals` are those of the target, packed;
-- nothing when it could not be read.
local function adapt(promotes, least, most, success_target, min_samples, bounds, packed)
  local values = call('HMGET', META, 'adaptive_latencies', unpack(ADAPTIVE_FIELDS))
  m.adaptive_latencies = values[1]
  for i, field in ipairs(ADAPTIVE_FIELDS) do m[field] = tonumber(values[i + 1]) or 0 end
  if m.adaptive_batch == 0 then m.adaptive_batch, m.adaptive_reason = m.batch, STEP_START end
  m.adaptive_batch = math.min(math.max(m.adaptive_batch, least), most)
  m.adaptive_min, m.adaptive_max = least, most
  local lapsed, step = now - m.adaptive_seen > STEP, 0
  m.adaptive_seen = now
  local judges = promotes and health() == BREAKER_CLOSED and quarters() == QUARTERS and adapts()
  if lapsed or not judges then m.adaptive_at = 0 end
  if judges and packed ~= '' then
    local totals = { latencies = { struct.unpack('>dddddddddddddd', packed, 17) }, bounds = bounds }
    totals.latencies[15] = nil
    totals.successes, totals.failures = struct.unpack('>dd', packed)
    totals.quick, totals.slow = split(totals.latencies, bounds)
    if m.adaptive_at == 0 then
      count_from(totals)
    elseif now - m.adaptive_at >= m.interval then
      local batch, reason = judge(totals, success_target, min_samples)
      if batch then
        m.adaptive_batch, m.adaptive_reason, step = batch, reason, reason
        count_from(totals)
      end
    end
  end
  save({ 'health_state', 'adaptive_batch', 'adaptive_seen', unpack(ADAPTIVE_FIELDS) })
  return step
end
