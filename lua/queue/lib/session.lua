-- Sessions of active places. Needs held.lua and outcomes.lua. keep_sessions() writes those of a
-- call, all at once.
--
-- A session that a join at the gate began lasts `unproven_ttl` until a client shows its token. Else
-- each request without a cookie would hold a slot for session_ttl.

local claimed, ends, session_records = {}, {}, {}

local function set_session(id, ticket, since, till, status)
  local k, record = #ends, pack_record(status or S_ACTIVE, ticket, since, till)
  changed[id] = record
  ends[k + 1], ends[k + 2] = till, id
  session_records[k + 1], session_records[k + 2] = id, record
  return till
end

local function keep_sessions()
  if #ends == 0 then return end
  write_even_if_full()
  if #claimed > 0 then call('ZREM', READY, unpack(claimed)) end
  call('ZADD', ACTIVE, unpack(ends))
  call('HSET', HELD, unpack(session_records))
  save({ 'last' })
end

-- A ready place becomes active; returns its end. The session begins when the turn is claimed.
-- `short`: no client has shown its token yet.
local function start_session(id, ticket, short)
  claimed[#claimed + 1] = id
  local ttl = math.min(m.session_ttl, m.session_max)
  if short then
    ttl = math.min(ttl, m.unproven_ttl, m.claim_ttl)
    return set_session(id, ticket, now, now + ttl, S_SHORT)
  end
  return set_session(id, ticket, now, now + ttl)
end

-- The end that a renewal now gives to a session begun at `since`.
local function renewed(since)
  return math.min(now + m.session_ttl, since + m.session_max)
end

-- Gives a session what a renewal now gives, unless that is less than it has; returns its end.
local function lengthen(id, ticket, since, till)
  local later = renewed(since)
  if later <= till then return till end
  return set_session(id, ticket, since, later)
end
