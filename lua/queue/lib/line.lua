-- Where places stand, and how they leave. Needs ticket and heard; who comes back needs slot.
local GONE_KEPT = 600000000 -- a reason is told for ten minutes

-- The notes of which period are written now, 0 or 1.
local function period()
  if not m.gone_period then m.gone_period = tonumber(call('HGET', META, 'gone_period')) or 0 end
  return m.gone_period
end

local function note_field(ticket)
  return string.format('%.0f', ticket)
end

-- Notes why a place is gone; write_notes() writes what this call has noted.
local notes, noted = {}, {}
local function bury(id, ticket, reason)
  local field, note = note_field(ticket), id .. struct.pack('>Bd', reason, now)
  local k = #notes
  notes[k + 1], notes[k + 2], noted[field] = field, note, note
end

local function write_notes()
  if #notes > 0 then call('HSET', KEYS[GONE + period()], unpack(notes)) end
end

-- The id, reason and time of the note on a ticket; nothing when there is none.
local function read_note(ticket)
  local field = note_field(ticket)
  local note = noted[field] or call('HGET', KEYS[GONE + period()], field) or call('HGET', KEYS[GONE + 1 - period()], field)
  if note then return string.sub(note, 1, 14), struct.unpack('>Bd', note, 15) end
end

-- A period ends: the notes of the one before are forgotten at once, and freed in the background. So a note is
-- kept for one to two times GONE_KEPT, however many there are.
local function turn_notes()
  if m.gone_at and now - m.gone_at < GONE_KEPT then return end
  m.gone_at, m.gone_period = now, 1 - period()
  call('UNLINK', KEYS[GONE + m.gone_period])
  save({ 'gone_at', 'gone_period' })
end

-- The join time of a ticket by the last mark at or before it; false when that is forgotten.
local function joined_at(ticket)
  local mark = call('ZREVRANGEBYSCORE', MARKS, ticket, '-inf', 'LIMIT', 0, 1)[1]
  return mark and tonumber(string.match(mark, '^%d+:(%d+)'))
end

-- Why a place that is in no set is gone.
local function why_gone(id, ticket)
  local of, reason, at = read_note(ticket)
  if of == id then return at + GONE_KEPT > now and reason or ENDED end
  -- Never given in this history, or too young to be forgotten: the store lost it.
  if ticket > m.ticket then return LOST end
  local joined = joined_at(ticket)
  return joined and joined + GONE_KEPT > now and LOST or ENDED
end

-- What is held of a place outside `waiting`, or far behind its head: status (S_WAITING: returned), ticket, since
-- when it stands there (away: in heard time; in line: the number of the slot in which it was last seen), and its end
-- (ready and active).
local RECORD = '>Bddd'

local function note(status, ticket, since, till)
  return struct.pack(RECORD, status, ticket, since, till)
end

-- The number of the slot in which a place in line was last seen, by its record; nothing without one.
local function seen_in(ticket, record)
  if not record then return end
  local status, of, slot = struct.unpack(RECORD, record)
  if of == ticket and (status == S_WAITING or status == S_FAR) then return slot end
end

-- Of the record of a place that is to have this ticket: status and set (in line), or status, end, since and
-- whether the session is short (admitted), or IS_GONE and the reason; nothing when it is not this place's. An end
-- is judged by its stored time, swept or not.
local function locate_held(ticket, record)
  if not record then return end
  local status, of, since, till = struct.unpack(RECORD, record)
  if of ~= ticket then return end
  if status == S_WAITING then return S_WAITING, RETURNED end
  if status == S_FAR then return S_WAITING, WAITING end
  if status == S_AWAY then
    if since + m.keep_ttl > (m.heard or 0) then return S_AWAY, AWAY end
    return IS_GONE, ABANDONED
  end
  if till <= now then return IS_GONE, status == S_READY and UNCLAIMED or EXPIRED end
  if status == S_SHORT then return S_ACTIVE, till, since, true end
  return status, till, since
end

-- How many have returned; looked up when first needed.
local returned

-- Places of a set with a smaller ticket.
local function before(ticket, set)
  return call('ZCOUNT', set, '-inf', '(' .. string.format('%.0f', ticket))
end

-- The position (1 = next), and as the how manieth from now it is promoted. Whoever returned from away is
-- counted in nobody's position, so that a position only improves, but goes before all later tickets.
local function position(id, ticket, set)
  if set == RETURNED then
    local place = before(ticket, WAITING) + 1
    return place, place + call('ZRANK', RETURNED, id)
  end
  local place = call('ZRANK', WAITING, id) + 1
  returned = returned or call('ZCARD', RETURNED)
  return place, returned == 0 and place or place + before(ticket, RETURNED)
end

-- Identities whose place this call has moved (its record, true when that is written), or ended (false): what it
-- read of them before is not true any more.
local changed = {}

-- A place that is away stands in line again with its old ticket, seen in the present slot.
local function come_back(id, ticket)
  changed[id] = true
  if returned then returned = returned + 1 end
  write_even_if_full()
  call('ZREM', AWAY, id)
  call('ZADD', RETURNED, ticket, id)
  call('HSET', HELD, id, note(S_WAITING, ticket, m.slot, 0))
end

-- Places that were not seen for idle_ttl are passed over. They are in no set of the line any more.
local function go_away(ids, tickets)
  if #ids == 0 then return end
  local away, held = {}, {}
  for i, id in ipairs(ids) do
    away[2 * i - 1], away[2 * i] = tickets[i], id
    held[2 * i - 1], held[2 * i] = id, note(S_AWAY, tickets[i], m.heard or 0, 0)
  end
  call('ZADD', AWAY, unpack(away))
  call('HSET', HELD, unpack(held))
end

-- Places in line that were never polled, or stayed away too long, are gone. They are in no set any more.
local function abandon(ids, tickets)
  if #ids == 0 then return end
  call('HDEL', HELD, unpack(ids))
  for i, id in ipairs(ids) do bury(id, tickets[i], ABANDONED) end
end
