-- The state by the stored state, the opening times and the health of a target, and whether places
-- are taken in and promoted. Needs health_state, health_at, ramp_at and open_for.

-- The target's state as the schedulers read it last; 0 when no reading is in force. Queue time runs
-- at most STEP past a tick: without schedulers a reading stays in force, and with some that cannot
-- read the target it lapses.
local function health()
  return m.health_at and now - m.health_at <= STEP and m.health_state or 0
end

-- After a fallback the pace comes back in quarters, an open_for each. How many are in force; fewer
-- than all needs ramp_at and open_for.
local function quarters()
  if health() ~= BREAKER_CLOSED or (m.ramp_at or 0) == 0 then return QUARTERS end
  return math.min(QUARTERS, 1 + math.floor((now - m.ramp_at) / m.open_for))
end

-- The state, whether places are taken in, whether any are promoted, and whether it is for health
-- alone that none are, or only the few who find out how the target is.
local function state_now()
  local state = m.state
  local takes = state ~= STATE_CLOSED
    and wall >= m.joins_at
    and (m.closes_at == 0 or wall < m.closes_at)
  local promotes = state ~= STATE_PAUSED and wall >= m.opens_at
  local by_health = promotes and health() > BREAKER_CLOSED
  if state == STATE_OPEN then
    if not takes then
      state = STATE_CLOSED
    elseif by_health or not promotes then
      state = STATE_PAUSED
    end
  end
  return state, takes, promotes and health() ~= BREAKER_OPEN, by_health
end
