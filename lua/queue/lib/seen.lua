-- Visitors poll. Needs presence.lua, held.lua, and ticket, slot, slot_at, base and heard.

-- Called once in each script run in which a visitor polls.
local function hear()
  local silent = silence()
  local fresh = m.slot and now - m.slot_at < m.idle_ttl / 4
  if fresh and silent < 1000000 then return end
  local function open_slot()
    local head = tonumber(call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2])
    m.slot, m.slot_at, m.base = (m.slot or -1) + 1, now, head or counter('ticket') + 1
    local ring, slot = read_ring(), m.slot % 5
    ring[slot + 1], ring[slot + 6] = m.base, counter('ticket')
    call('UNLINK', KEYS[SEEN + slot])
    call('HSET', META, 'ring', cmsgpack.pack(ring))
    save({ 'slot', 'slot_at', 'base' })
  end
  write_even_if_full()
  m.roll_left = check_in_left()
  m.heard = (m.heard or 0) + math.min(now - (m.heard_at or 0), STEP)
  m.heard_at, m.heard_wall = now, wall
  if silent > m.first_poll_ttl and call('EXISTS', WAITING, RETURNED) > 0 then
    open_slot()
    -- Silence before the end of a period: all must check in again, in what is left of it. Else a
    -- visitor who polls rarely would restart it each time.
    local left = m.roll_left
    m.roll_left = left > 0 and math.max(left, CHECK_IN_PAUSE) or m.first_poll_ttl
    m.roll_slot, m.roll_top = m.slot, counter('ticket')
    save({ 'roll_slot', 'roll_top' })
  elseif not fresh then
    open_slot()
  end
  save({ 'heard', 'heard_at', 'heard_wall', 'roll_left', 'last' })
end

-- What was seen in this call: of tickets that the bitmap reaches the arguments that set their bits,
-- of all others the records.
local bits, last_bit, records_seen, format = {}, 0, {}, string.format
local base, reach -- of the bitmap; looked up when first needed

-- A place in line is seen. After hear(); keep_seen() writes it.
local function see(set, id, ticket)
  if not base then base, reach = m.base, REACH * m.max_waiting end
  local at = ticket - base
  if set == WAITING and at >= 0 and at < reach then
    local k = last_bit
    bits[k + 1], bits[k + 2], bits[k + 3], bits[k + 4] = 'SET', 'u1', format('%d', at), '1'
    last_bit = k + 4
  else
    local k, status = #records_seen, set == WAITING and S_FAR or S_WAITING
    records_seen[k + 1], records_seen[k + 2] = id, pack_record(status, ticket, m.slot, 0)
  end
end

-- Writes what was seen in this call, all at once.
local function keep_seen()
  if #records_seen > 0 then
    write_even_if_full()
    call('HSET', HELD, unpack(records_seen))
  end
  if last_bit == 0 then return end
  -- A full Redis refuses it where it is the first write. Only then write_even_if_full() is needed.
  local key = KEYS[SEEN + m.slot % 5]
  if may_write or redis.pcall('BITFIELD', key, unpack(bits)).err then
    write_even_if_full()
    call('BITFIELD', key, unpack(bits))
  end
end
