-- Where places stand, and how they leave. Needs ticket and heard.
local GONE_KEPT = 600000000 -- a reason is told for ten minutes

-- Notes why places are gone; the caller has taken them out of their sets. The ticket in the member keeps
-- two places of one identity apart that end in the same microsecond.
local function bury(ids, tickets, reason)
  local flat = {}
  for i, id in ipairs(ids) do
    flat[2 * i - 1], flat[2 * i] = tickets[i], id .. string.format('%d%.0f:%.0f', reason, now, tickets[i])
  end
  if #flat > 0 then call('ZADD', GONE, unpack(flat)) end
end

-- The id, reason and time of a note.
local function read_stone(stone)
  local reason, at = string.match(stone, '^(%d)(%d+)', 15)
  return string.sub(stone, 1, 14), tonumber(reason), tonumber(at)
end

-- The join time of a ticket by the last mark at or before it; false when that is forgotten.
local function joined_at(ticket)
  local mark = call('ZREVRANGEBYSCORE', MARKS, ticket, '-inf', 'LIMIT', 0, 1)[1]
  return mark and tonumber(string.match(mark, '^%d+:(%d+)'))
end

-- Why a place that is in no set is gone.
local function why_gone(id, ticket)
  local stone = call('ZRANGEBYSCORE', GONE, ticket, ticket, 'LIMIT', 0, 1)[1]
  if stone then
    local of, reason, at = read_stone(stone)
    if of == id then return at + GONE_KEPT > now and reason or ENDED end
  end
  -- Never given in this history, or too young to be forgotten: the store lost it.
  if ticket > m.ticket then return LOST end
  local joined = joined_at(ticket)
  return joined and joined + GONE_KEPT > now and LOST or ENDED
end

-- What is held of a place outside `waiting`: status (S_WAITING: returned), ticket, since when it stands
-- there (away: in heard time), and its end (ready and active).
local RECORD = '>Bddd'

local function note(status, ticket, since, till)
  return struct.pack(RECORD, status, ticket, since, till)
end

-- Of the record of a place that is to have this ticket: status and set (in line), or status, end and since
-- (admitted), or IS_GONE and the reason; nothing when it is not this place's. An end is judged by its stored
-- time, swept or not.
local function locate_held(ticket, record)
  if not record then return end
  local status, of, since, till = struct.unpack(RECORD, record)
  if of ~= ticket then return end
  if status == S_WAITING then return S_WAITING, RETURNED end
  if status == S_AWAY then
    if since + m.keep_ttl > (m.heard or 0) then return S_AWAY, AWAY end
    return IS_GONE, ABANDONED
  end
  if till > now then return status, till, since end
  return IS_GONE, status == S_ACTIVE and EXPIRED or UNCLAIMED
end

-- 1 = next. Whoever returned from away is counted in nobody's position, so a position only improves.
local function position(id, ticket, set)
  if set == WAITING then return call('ZRANK', WAITING, id) + 1 end
  return call('ZCOUNT', WAITING, '-inf', '(' .. string.format('%.0f', ticket)) + 1
end

-- Identities whose place this call has moved: what it read of them before is not true any more.
local changed = {}

-- A place that is away stands in line again with its old ticket.
local function come_back(id, ticket)
  changed[id] = true
  call('ZREM', AWAY, id)
  call('ZADD', RETURNED, ticket, id)
  call('HSET', HELD, id, note(S_WAITING, ticket, now, 0))
end

-- A place that was not seen for idle_ttl is passed over; it is in no set of the line any more.
local function go_away(id, ticket)
  call('ZADD', AWAY, ticket, id)
  call('HSET', HELD, id, note(S_AWAY, ticket, m.heard or 0, 0))
end
