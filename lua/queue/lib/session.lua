-- Sessions of active places. Needs lib/line.lua.
--
-- A session that a join at the gate began is short until somebody shows its token: else each request without a
-- cookie would hold a slot for session_ttl. Until then the time since when it runs is stored negative.

local function write_session(id, ticket, since, till)
  changed[id] = true
  write_even_if_full()
  call('ZADD', ACTIVE, till, id)
  call('HSET', HELD, id, note(S_ACTIVE, ticket, since, till))
  save({ 'last' })
  return till
end

-- A ready place becomes active; returns its end. The session begins when the turn is claimed. `short`: nobody
-- has shown its token yet.
local function start_session(id, ticket, short)
  call('ZREM', READY, id)
  local ttl = math.min(m.session_ttl, m.session_max)
  if short then return write_session(id, ticket, -now, now + math.min(ttl, m.claim_ttl)) end
  return write_session(id, ticket, now, now + ttl)
end

-- The end that a renewal now gives to a session begun at `since`.
local function renewed(since)
  return math.min(now + m.session_ttl, math.abs(since) + m.session_max)
end

-- Gives a session what a renewal now gives, unless that is less than it has; returns its end.
local function lengthen(id, ticket, since, till)
  local later = renewed(since)
  if later <= till then return till end
  return write_session(id, ticket, math.abs(since), later)
end
