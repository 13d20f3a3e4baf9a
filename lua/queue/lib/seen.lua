-- Who is present: the slots in which places were seen, heard time, and the roll-call.
-- Needs ticket, slot, slot_at, base, heard, heard_at, heard_wall, roll_left.
--
-- A slot is opened by the first visitor heard once the last slot is idle_ttl / 4 old, so an outage opens none.
-- A waiting place that is seen sets the bit of its ticket in the slot's bitmap; one that returned, or stands too
-- far behind the head for the bitmap, has the number of the slot in its record. Heard time advances only while
-- visitors are heard, by at most STEP between two of them: what is measured in it does not run out during an
-- outage of the store or of admission.
--
-- When nobody in line was heard for first_poll_ttl, the first one who is opens a roll-call, with a slot of its
-- own: from then on a place counts as present only when it joined or was seen since.

-- The bitmap of a slot reaches so many times max_waiting behind the head.
local REACH = 4
-- The roll-call stands still when nobody has been heard for this long: polls come at least so often.
local ROLL_CALL_STILL = 20000000

-- Of each slot of the ring the ticket of bit 0 (1 to 5) and the last ticket when it was opened (6 to 10).
local function read_ring()
  local packed = call('HGET', META, 'ring')
  return packed and cmsgpack.unpack(packed) or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end

local function open_slot()
  local head = tonumber(call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2])
  m.slot, m.slot_at, m.base = (m.slot or -1) + 1, now, head or m.ticket + 1
  local ring, slot = read_ring(), m.slot % 5
  ring[slot + 1], ring[slot + 6] = m.base, m.ticket
  call('UNLINK', KEYS[SEEN + 1 + slot])
  call('HSET', META, 'ring', cmsgpack.pack(ring))
  save({ 'slot', 'slot_at', 'base' })
end

-- For how long nobody was heard: by queue time or by the store's own clock, which runs on in an outage.
local function silence()
  return math.max(now - (m.heard_at or 0), wall - (m.heard_wall or 0))
end

-- What is left of the roll-call; 0 when none is on.
local function roll_call_left()
  local left = m.roll_left or 0
  return left > 0 and math.max(0, left - math.min(now - m.heard_at, ROLL_CALL_STILL)) or 0
end

-- Once in each call in which a visitor is heard.
local function hear()
  local silent = silence()
  local fresh = m.slot and now - m.slot_at < m.idle_ttl / 4
  if fresh and silent < 1000000 then return end
  write_even_if_full()
  m.roll_left = roll_call_left()
  m.heard = (m.heard or 0) + math.min(now - (m.heard_at or 0), STEP)
  m.heard_at, m.heard_wall = now, wall
  if silent > m.first_poll_ttl and call('EXISTS', WAITING, RETURNED) > 0 then
    open_slot()
    -- Silent again before the end of one: all are asked anew, in what is left of it. Else somebody who comes seldom
    -- would begin it again and again.
    m.roll_left = m.roll_left > 0 and math.max(m.roll_left, ROLL_CALL_STILL) or m.first_poll_ttl
    m.roll_slot, m.roll_top = m.slot, m.ticket
    save({ 'roll_slot', 'roll_top' })
  elseif not fresh then
    open_slot()
  end
  save({ 'heard', 'heard_at', 'heard_wall', 'roll_left', 'last' })
end

-- What was seen in this call: tickets that the bitmap reaches, and the records of all others.
local seen, records_seen = {}, {}

-- A place in line is seen. After hear(); keep_seen() writes it.
local function see(set, id, ticket)
  local at = ticket - m.base
  if set == WAITING and at >= 0 and at < REACH * m.max_waiting then
    seen[#seen + 1] = at
  else
    local k = #records_seen
    records_seen[k + 1], records_seen[k + 2] = id, note(set == WAITING and S_FAR or S_WAITING, ticket, m.slot, 0)
  end
end

-- Writes what was seen in this call, all at once.
local function keep_seen()
  if #seen + #records_seen > 0 then write_even_if_full() end
  if #records_seen > 0 then call('HSET', HELD, unpack(records_seen)) end
  if #seen == 0 then return end
  local set, k = {}, 0
  for _, at in ipairs(seen) do
    set[k + 1], set[k + 2], set[k + 3], set[k + 4] = 'SET', 'u1', string.format('%d', at), '1'
    k = k + 4
  end
  call('BITFIELD', KEYS[SEEN + 1 + m.slot % 5], unpack(set))
end
