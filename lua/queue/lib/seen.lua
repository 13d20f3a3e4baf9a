-- Who is present: one bit per ticket in a ring of five bitmaps, and heard time.
-- Needs ticket, slot, slot_at, base, heard, heard_at.
--
-- A slot is opened by the first visitor heard once the last slot is idle_ttl / 4 old, so an outage opens
-- none. Heard time advances only while visitors are heard, by at most STEP between two of them: what is
-- measured in it does not run out during an outage of the store or of admission.

-- The smallest ticket in line, present or away; false when there is none.
local function head()
  local least = false
  for _, key in ipairs({ WAITING, RETURNED, AWAY }) do
    local ticket = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if ticket and (not least or ticket < least) then least = ticket end
  end
  return least
end

-- Of each slot of the ring the ticket of bit 0 (1 to 5) and the last ticket when it was opened (6 to 10).
local function read_ring()
  local packed = call('HGET', META, 'ring')
  return packed and cmsgpack.unpack(packed) or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end

local function write_base(ring, slot)
  ring[slot + 1] = m.base
  call('HSET', META, 'ring', cmsgpack.pack(ring))
  save({ 'base' })
end

-- Once in each call in which a visitor is heard.
local function hear()
  local gap = now - (m.heard_at or 0)
  local fresh = m.slot and now - m.slot_at < m.idle_ttl / 4
  if fresh and gap < 1000000 then return end
  m.heard = (m.heard or 0) + math.min(gap, STEP)
  m.heard_at = now
  if not fresh then
    m.slot, m.slot_at, m.base = (m.slot or -1) + 1, now, head() or m.ticket + 1
    local ring, slot = read_ring(), m.slot % 5
    ring[slot + 6] = m.ticket
    call('UNLINK', KEYS[SEEN + 1 + slot])
    write_base(ring, slot)
    save({ 'slot', 'slot_at' })
  end
  save({ 'heard', 'heard_at', 'last' })
end

-- Tickets in line that were seen in this call; keep_seen() writes them.
local seen = {}

-- Marks what was seen in this call in the present slot, all at once. After hear().
local function keep_seen()
  if #seen == 0 then return end
  local slot = m.slot % 5
  local key = KEYS[SEEN + 1 + slot]
  if m.ticket - m.base >= 8 * m.max_waiting then
    -- Where the head has moved on far within one slot, the bitmap begins at the head again.
    local skip = (head() or m.ticket) - m.base
    if skip >= (m.ticket - m.base) / 2 then
      local bytes = math.floor(skip / 8)
      call('SET', key, call('GETRANGE', key, bytes, -1))
      m.base = m.base + 8 * bytes
      write_base(read_ring(), slot)
    end
  end
  local set, k = {}, 0
  for _, ticket in ipairs(seen) do
    -- A ticket below the base cannot be in line, unless the store lost writes.
    if ticket >= m.base then
      set[k + 1], set[k + 2], set[k + 3], set[k + 4] = 'SET', 'u1', string.format('%d', ticket - m.base), '1'
      k = k + 4
    end
  end
  if k > 0 then call('BITFIELD', key, unpack(set)) end
end
