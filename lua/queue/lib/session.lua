-- Sessions of active places. Needs session_ttl, session_max and the clock.

-- A ready place becomes active; returns its end. The session begins when the turn is claimed.
local function start_session(id)
  local till = now + math.min(m.session_ttl, m.session_max)
  call('ZREM', READY, id)
  call('ZADD', ACTIVE, till, id)
  call('HSET', SINCE, id, now)
  save({ 'last' })
  return till
end

-- The end that a renewal now would give.
local function renewed(id)
  return math.min(now + m.session_ttl, tonumber(call('HGET', SINCE, id)) + m.session_max)
end

local function extend(id, till)
  call('ZADD', ACTIVE, till, id)
  save({ 'last' })
  return till
end
