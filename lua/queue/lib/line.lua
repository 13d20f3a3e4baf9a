-- Where places stand, and how they leave. Needs ticket, heard, keep_ttl and the clock.
local GONE_KEPT = 600000000 -- a reason is told for ten minutes

-- Notes why places are gone; the caller has taken them out of their sets.
local function bury(ids, tickets, reason)
  local at, flat = string.format('%.0f', now), {}
  for i, id in ipairs(ids) do
    flat[2 * i - 1], flat[2 * i] = tickets[i], id .. reason .. at
  end
  if #flat > 0 then call('ZADD', GONE, unpack(flat)) end
end

-- The join time of a ticket by the last mark at or before it; false when that is forgotten.
local function joined_at(ticket)
  local mark = call('ZREVRANGEBYSCORE', MARKS, ticket, '-inf', 'LIMIT', 0, 1)[1]
  return mark and tonumber(string.match(mark, '^%d+:(%d+)'))
end

-- Why a place that is in no set is gone.
local function why_gone(id, ticket)
  local note = call('ZRANGEBYSCORE', GONE, ticket, ticket, 'LIMIT', 0, 1)[1]
  if note and string.sub(note, 1, 14) == id then
    local at = tonumber(string.sub(note, 16))
    return at + GONE_KEPT > now and tonumber(string.sub(note, 15, 15)) or ENDED
  end
  -- Never given in this history, or too young to be forgotten: the store lost it.
  if ticket > m.ticket then return LOST end
  local joined = joined_at(ticket)
  return joined and joined + GONE_KEPT > now and LOST or ENDED
end

-- Status and end (microseconds) of an admitted place, or IS_GONE and the reason. An end is judged by
-- its stored time, swept or not. `active` is its score there, when that was read before.
local function locate_admitted(id, active)
  local till = tonumber(active or call('ZSCORE', ACTIVE, id))
  if till then
    if till > now then return S_ACTIVE, till end
    return IS_GONE, EXPIRED
  end
  till = tonumber(call('ZSCORE', READY, id))
  if till and till > now then return S_READY, till end
  return IS_GONE, UNCLAIMED
end

-- Status and set of a place that was passed over or has returned, or IS_GONE and the reason.
local function locate_absent(id, ticket)
  if tonumber(call('ZSCORE', RETURNED, id)) == ticket then return S_WAITING, RETURNED end
  if tonumber(call('ZSCORE', AWAY, id)) == ticket then
    if tonumber(call('HGET', SINCE, id)) + m.keep_ttl > (m.heard or 0) then return S_AWAY, AWAY end
    return IS_GONE, ABANDONED
  end
  return IS_GONE, why_gone(id, ticket)
end

-- 1 = next. Whoever returned from away is counted in nobody's position, so a position only improves.
local function position(id, ticket, set)
  if set == WAITING then return call('ZRANK', WAITING, id) + 1 end
  return call('ZCOUNT', WAITING, '-inf', '(' .. string.format('%.0f', ticket)) + 1
end

-- A place that is away stands in line again with its old ticket.
local function come_back(id, ticket)
  call('ZREM', AWAY, id)
  call('HDEL', SINCE, id)
  call('ZADD', RETURNED, ticket, id)
end

-- A place that was not seen for idle_ttl is passed over; it is in no set of the line any more.
local function go_away(id, ticket)
  call('ZADD', AWAY, ticket, id)
  call('HSET', SINCE, id, m.heard or 0)
end
