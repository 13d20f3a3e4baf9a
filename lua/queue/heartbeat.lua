-- queue.heartbeat: visitors in line poll, and get no other answer than that they are in line. For
-- others queue.place has the answer: the returned, the inactive, the admitted, and the gone.
-- Uses: lib/store lib/entity meta held presence seen outcomes
-- KEYS: meta waiting returned away held seen:{0-4}
-- ARGV: now, (epoch, known, tickets, (id)*)*
--       (lib/visit.lua; known: a byte for each item, 1 if the caller has found it in line before)
-- Reply: OK, epoch, when the slot was opened in which they were seen (µs of queue time; 0: none is
--        in line), for each item a byte, 1 in line or 0; or NO_RULES
-- Codes: OK NO_RULES

if
  not load_meta({
    'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'heard_wall', 'roll_left',
    'roll_slot',
  })
then
  return { NO_RULES }
end
read_clock()

-- A look-up in `waiting` takes more than half of the time of an item. A place that was seen in the
-- slot before needs none, for a place that leaves the middle of the line loses its bit.
-- Processes of 0.2.0 clear no bits, so each place is looked up in one of so many slots.
local LOOKED_UP = 4
-- After Redis has gone back to older data, it may give a ticket to a second place. A caller knows
-- no place then. It needs less than this time to notice (µs).
local NOTICED = 10000000

-- Which items of a run are in line for sure.
local function in_line_by_bits(tickets, known)
  local sure = {}
  local age = m.slot and now - m.slot_at
  if not age or age >= m.idle_ttl / 4 or m.idle_ttl / 4 < NOTICED then return sure end
  -- In the slot of a check-in period a bit of the slot before proves nothing.
  if silence() > m.first_poll_ttl or m.slot == m.roll_slot then return sure end
  local head = tonumber(call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2])
  if not head then return sure end
  local before = m.slot - 1
  local first, reach = read_ring()[before % 5 + 1], REACH * m.max_waiting
  local gets, last, of = {}, 0, {}
  for i, ticket in ipairs(tickets) do
    local at = ticket - first
    local may_be_sure = known:byte(i) == 49 and ticket >= head and at >= 0 and at < reach
    if may_be_sure and (ticket + m.slot) % LOOKED_UP ~= 0 then
      gets[last + 1], gets[last + 2], gets[last + 3] = 'GET', 'u1', format('%d', at)
      last, of[#of + 1] = last + 3, i
    end
  end
  if last == 0 then return sure end
  for k, bit in ipairs(call('BITFIELD', KEYS[SEEN + before % 5], unpack(gets))) do
    sure[of[k]] = bit == 1
  end
  return sure
end

-- Which items of a run are in line.
local function find_in_line(tickets, known, before)
  local found = in_line_by_bits(tickets, known)
  local ids, of = {}, {}
  for i = 1, #tickets do
    if not found[i] then ids[#ids + 1], of[#of + 1] = ARGV[before + i], i end
  end
  if #ids > 0 then
    for k, score in ipairs(call('ZMSCORE', WAITING, unpack(ids))) do
      found[of[k]] = score and tonumber(score) == tickets[of[k]]
    end
  end
  return found
end

local in_line, items, seen_any = {}, 0, false
local at = 2
while ARGV[at] do
  local known, packed, before = ARGV[at + 1], ARGV[at + 2], at + 2
  local n = #packed / 8
  at = before + n + 1
  local tickets = { struct.unpack(doubles(n), packed) }
  tickets[n + 1] = nil -- the position behind the last
  local found = ARGV[before - 2] == m.epoch and find_in_line(tickets, known, before) or {}
  for i = 1, n do
    items = items + 1
    if found[i] then
      if not seen_any then
        hear()
        seen_any = true
      end
      see(WAITING, ARGV[before + i], tickets[i])
      in_line[items] = '1'
    else
      in_line[items] = '0'
    end
  end
end
keep_seen()
return { OK, m.epoch, seen_any and m.slot_at or 0, table.concat(in_line) }
