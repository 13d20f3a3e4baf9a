-- Who is present: one bit per ticket in a ring of five bitmaps, and heard time.
-- Needs ticket, slot, slot_at, base0..4, top0..4, heard, heard_at, young, idle_ttl, max_waiting.
--
-- A slot is opened by the first visitor heard once the last slot is idle_ttl / 4 old, so an outage opens
-- none. Heard time advances only while visitors are heard, by at most STEP between two of them: what is
-- measured in it does not run out during an outage of the store or of admission.
local SEEN_FIELDS = {
  'ticket', 'slot', 'slot_at', 'heard', 'heard_at', 'young', 'idle_ttl', 'max_waiting',
  'base0', 'base1', 'base2', 'base3', 'base4', 'top0', 'top1', 'top2', 'top3', 'top4',
}

-- The smallest ticket in line, present or away; false when there is none.
local function head()
  local least = false
  for _, key in ipairs({ WAITING, RETURNED, AWAY }) do
    local ticket = tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
    if ticket and (not least or ticket < least) then least = ticket end
  end
  return least
end

-- Once in each call in which a visitor is heard.
local function hear()
  local gap = now - (m.heard_at or 0)
  if m.slot and gap < 1000000 and now - m.slot_at < m.idle_ttl / 4 then return end
  m.heard = (m.heard or 0) + math.min(gap, STEP)
  m.heard_at = now
  if not m.slot or now - m.slot_at >= m.idle_ttl / 4 then
    m.slot, m.slot_at = (m.slot or -1) + 1, now
    local ring = m.slot % 5
    m['base' .. ring], m['top' .. ring] = head() or m.ticket + 1, m.ticket
    call('UNLINK', KEYS[SEEN + 1 + ring])
    save({ 'slot', 'slot_at', 'base' .. ring, 'top' .. ring })
  end
  save({ 'heard', 'heard_at', 'last' })
end

-- Tickets in line that were seen in this call; keep_seen() writes them.
local seen = {}

-- Marks what was seen in this call in the present slot, all at once. After hear().
local function keep_seen()
  if #seen == 0 then return end
  local ring = m.slot % 5
  local key, base = KEYS[SEEN + 1 + ring], m['base' .. ring]
  if m.ticket - base >= 8 * m.max_waiting then
    -- The head has moved on far within one slot: let the bitmap begin at the head again.
    local bytes = math.floor(math.max(0, (head() or m.ticket) - base) / 8)
    call('SET', key, call('GETRANGE', key, bytes, -1))
    base = base + 8 * bytes
    m['base' .. ring] = base
    save({ 'base' .. ring })
  end
  local set = {}
  for _, ticket in ipairs(seen) do
    -- A ticket below the base cannot be in line, unless the store lost writes.
    if ticket >= base then
      local k = #set
      set[k + 1], set[k + 2], set[k + 3], set[k + 4] = 'SET', 'u1', ticket - base, 1
    end
  end
  if #set > 0 then call('BITFIELD', key, unpack(set)) end
end

-- Moves `young` on: places up to that ticket joined at least first_poll_ttl ago in heard time. The tickets
-- from one mark to the next joined within a second of it, and heard time may lag by one more.
local MARK_EVERY, MARK_CHUNK = 1000000, 64
local function age()
  local from = '(' .. string.format('%.0f', m.young or 0)
  local marks = call('ZRANGEBYSCORE', MARKS, from, '+inf', 'LIMIT', 0, MARK_CHUNK)
  for i, mark in ipairs(marks) do
    local heard = tonumber(string.match(mark, '^%d+:%d+:(%d+)'))
    if heard + 2 * MARK_EVERY + m.first_poll_ttl > (m.heard or 0) then return end
    if marks[i + 1] then
      m.young = tonumber(string.match(marks[i + 1], '^%d+')) - 1
    elseif i < MARK_CHUNK then
      m.young = m.ticket
    end
  end
end

-- For each of these tickets: false when present (young, or seen in a slot of the ring), else
-- S_AWAY, or ABANDONED when it was never seen although no slot since its join is forgotten.
local function absence(tickets)
  local found, ask = {}, {}
  for i, ticket in ipairs(tickets) do
    found[i] = false
    if m.slot and ticket <= (m.young or 0) then ask[#ask + 1] = i end
  end
  for back = 0, 4 do
    if #ask == 0 or m.slot - back < 0 then break end
    local ring = (m.slot - back) % 5
    local base, get, asked, rest = m['base' .. ring], {}, {}, {}
    for _, i in ipairs(ask) do
      if tickets[i] >= base then
        get[#get + 1], get[#get + 2], get[#get + 3] = 'GET', 'u1', tickets[i] - base
        asked[#asked + 1] = i
      else
        rest[#rest + 1] = i
      end
    end
    if #asked > 0 then
      local bits = call('BITFIELD', KEYS[SEEN + 1 + ring], unpack(get))
      for k, i in ipairs(asked) do
        if bits[k] == 0 then rest[#rest + 1] = i end
      end
    end
    ask = rest
  end
  local forgotten = m.slot and m.slot >= 4 and m['top' .. ((m.slot + 1) % 5)] or -1
  for _, i in ipairs(ask) do
    found[i] = tickets[i] > forgotten and ABANDONED or S_AWAY
  end
  return found
end
