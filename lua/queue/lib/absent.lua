-- Places in line that are absent: they are skipped, or end. Needs presence.lua, held.lua,
-- end_place.lua, and ticket, heard, slot, roll_slot, roll_top and young.

-- Raises `young`, the last ticket whose time for the first poll is over: the places up to it joined
-- at least first_poll_ttl ago in heard time. The tickets from one sample to the next joined within
-- a second of it, and heard time may lag by one more.
local SAMPLE_EVERY, SAMPLE_CHUNK = 1000000, 64
local function end_first_polls()
  local from = '(' .. string.format('%.0f', m.young or 0)
  local samples = call('ZRANGEBYSCORE', MARKS, from, '+inf', 'LIMIT', 0, SAMPLE_CHUNK)
  for i, sample in ipairs(samples) do
    local heard = tonumber(string.match(sample, '^%d+:%d+:(%d+)'))
    if heard + 2 * SAMPLE_EVERY + m.first_poll_ttl > (m.heard or 0) then return end
    if samples[i + 1] then
      m.young = tonumber(string.match(samples[i + 1], '^%d+')) - 1
    elseif i < SAMPLE_CHUNK then
      m.young = counter('ticket')
    end
  end
end

-- The number of the slot in which a place in line was last seen, by its record; nothing without
-- one.
local function seen_in(ticket, record)
  if not record then return end
  local status, of, slot = struct.unpack(RECORD, record)
  if of == ticket and (status == S_WAITING or status == S_FAR) then return slot end
end

-- Tickets in line are close together, so the bitmaps are read in windows, not bit by bit.
local WINDOW = 512 -- bytes

-- Of these places, whose tickets ascend and which `unknown` lists by their index, those whose bit
-- is set in none of the slots from the present one down to this.
local function unseen_in_ring(unknown, tickets, ring, oldest)
  for number = m.slot, oldest, -1 do
    local slot = number % 5
    local key, base, rest = KEYS[SEEN + slot], ring[slot + 1], {}
    local from, bytes = -WINDOW, ''
    for _, i in ipairs(unknown) do
      local at = tickets[i] - base
      local byte = math.floor(at / 8)
      if at >= 0 and byte >= from + WINDOW then
        from, bytes = byte, call('GETRANGE', key, byte, byte + WINDOW - 1)
      end
      if not has_bit(bytes, at - 8 * from) then rest[#rest + 1] = i end
    end
    unknown = rest
  end
  return unknown
end

-- Places with a later ticket are present.
local function checked_upto()
  return m.slot and math.max(m.young or 0, m.roll_top or -1) or -1
end

-- For each of these places, whose tickets ascend: false when present (it has time left for its
-- first poll, or was seen in a slot of the ring), else S_AWAY, or ABANDONED when it was never seen
-- although no slot since its join is forgotten. Slots before the last check-in period do not count:
-- a place that was not seen in the period is away.
local function absence(ids, tickets)
  local found, unknown, ring = {}, {}, read_ring()
  local roll_top = m.roll_top or -1
  local upto = checked_upto()
  for i, ticket in ipairs(tickets) do
    found[i] = false
    if ticket <= upto then unknown[#unknown + 1] = i end
  end
  if #unknown == 0 then return found end
  local oldest = math.max(0, m.slot - 4, m.roll_slot or 0)
  unknown = unseen_in_ring(unknown, tickets, ring, oldest)
  if #unknown == 0 then return found end
  local unseen = {}
  for k, i in ipairs(unknown) do unseen[k] = ids[i] end
  local records = call('HMGET', HELD, unpack(unseen))
  local forgotten = math.max(roll_top, m.slot >= 4 and ring[(m.slot + 1) % 5 + 6] or -1)
  for k, i in ipairs(unknown) do
    local last_seen = seen_in(tickets[i], records[k])
    if not last_seen or last_seen < oldest then
      found[i] = tickets[i] > forgotten and ABANDONED or S_AWAY
    end
  end
  return found
end

-- Places that were not seen for idle_ttl are skipped. They are in no set of the line any more.
local function go_away(ids, tickets)
  if #ids == 0 then return end
  local away, held = {}, {}
  for i, id in ipairs(ids) do
    away[2 * i - 1], away[2 * i] = tickets[i], id
    held[2 * i - 1], held[2 * i] = id, pack_record(S_AWAY, tickets[i], m.heard or 0, 0)
  end
  call('ZADD', AWAY, unpack(away))
  call('HSET', HELD, unpack(held))
end

-- Places in line that were never polled, or stayed away too long, are gone. They are in no set any
-- more.
local function abandon(ids, tickets)
  if #ids == 0 then return end
  call('HDEL', HELD, unpack(ids))
  for i, id in ipairs(ids) do end_place(id, tickets[i], ABANDONED) end
end
