-- Sessions of active places. Needs lib/line.lua.

local function write_session(id, ticket, since, till)
  changed[id] = true
  write_even_if_full()
  call('ZADD', ACTIVE, till, id)
  call('HSET', HELD, id, note(S_ACTIVE, ticket, since, till))
  save({ 'last' })
  return till
end

-- A ready place becomes active; returns its end. The session begins when the turn is claimed.
local function start_session(id, ticket)
  call('ZREM', READY, id)
  return write_session(id, ticket, now, now + math.min(m.session_ttl, m.session_max))
end

-- The end that a renewal now gives to a session begun at `since`.
local function renewed(since)
  return math.min(now + m.session_ttl, since + m.session_max)
end
