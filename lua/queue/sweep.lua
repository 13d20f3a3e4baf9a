-- queue.sweep: clears away what has ended: turns not claimed, sessions over, places unseen,
-- abandoned ones, old reasons. Each part is bounded; `more`: another call would find more that has
-- ended, or more places unseen, or a walk through the line is late.
-- Uses: lib/store lib/entity meta withheld revoked gone_reasons addresses end_place take_out held
--       log ring presence absent
-- KEYS: meta waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4} revoked
--       joined_from per_address
-- ARGV: now
-- Reply: OK, unclaimed, expired, gone away, abandoned, more (1 or 0); or NO_RULES
-- Codes: OK NO_RULES

-- Places that a call ends; places of the line that it looks at, how many of them together, and
-- absent ones after which it looks at no more; old samples, revocations and counted addresses that
-- it forgets, and tickets whose addresses it reads. An absent place costs as much as many present
-- ones, so a call ends with fewer than ABSENT + STRIDE. Where many places have ended it looks at
-- one step alone.
local ENDS, WALK, STRIDE, ABSENT, FORGETS, READS = 60, 150, 30, 30, 50, 1000
-- Bytes of a bitmap that a call looks through, and how many places a look-up counts for.
local SCAN, LOOK_UP = 2048, 4

if not load_meta({
  'ticket', 'slot', 'heard', 'heard_at', 'heard_wall', 'roll_left', 'roll_slot', 'roll_top',
  'young', 'credit', 'credit_at', 'dropped', 'gone_at', 'walk_waiting', 'walk_returned',
  'walk_away', 'walk_waiting_at', 'walk_returned_at', 'walk_away_at', 'counted_upto',
  'counted_from',
}) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()

-- A period ends: the reasons of the one before are forgotten at once, and freed in the background.
-- So a reason is kept for one to two times GONE_KEPT, however many there are.
local function turn_gone_reasons()
  if m.gone_at and now - m.gone_at < GONE_KEPT then return end
  m.gone_at, m.gone_period = now, 1 - counter('gone_period')
  call('UNLINK', KEYS[GONE + m.gone_period])
  save({ 'gone_at', 'gone_period' })
end
turn_gone_reasons()
end_first_polls()

-- Turns or sessions that have ended, at most so many: out of their sets, with the reason noted.
local function end_of(set, reason, most)
  local ids = most > 0 and call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, most) or {}
  if #ids == 0 then return 0 end
  if reason == UNCLAIMED then read_log() end
  for i, record in ipairs(call('HMGET', HELD, unpack(ids))) do
    -- No record: Redis has lost writes, so the place is only removed.
    if record then
      local _, ticket, since = struct.unpack(RECORD, record)
      end_place(ids[i], ticket, reason)
      if reason == UNCLAIMED then give_back(since) end
    end
  end
  if reason == UNCLAIMED then write_log() end
  call('ZREM', set, unpack(ids))
  call('ZREM', ADMITTED, unpack(ids))
  call('HDEL', HELD, unpack(ids))
  return #ids
end

-- One that counts for an address costs half as much again.
local ends = m.counted_upto and ENDS * 3 / 4 or ENDS
local unclaimed = end_of(READY, UNCLAIMED, ends)
local expired = end_of(ACTIVE, EXPIRED, ends - unclaimed)
local more = unclaimed + expired == ends and 1 or 0
local length = more == 1 and STRIDE or WALK

-- A walk goes through a set in ticket order, and begins again behind its last place. A round takes
-- a quarter of a timer at most, so that ends are soon known in a long line, too.
local function walked_to(set, cursor, ticket, timer)
  local since = cursor .. '_at'
  m[cursor], m[since] = ticket, ticket > 0 and m[since] or now
  if ticket == 0 then return end
  local first = tonumber(call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
  local last = tonumber(call('ZRANGE', set, -1, -1, 'WITHSCORES')[2])
  local share = math.min(1, (now - m[since]) / (timer / 4))
  if last and ticket < first + share * (last - first) then more = 1 end
end

-- The next places of a set: ids and tickets.
local function walk(set, cursor, most, timer)
  local from = '(' .. string.format('%.0f', m[cursor] or 0)
  local found = call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  local ids, tickets = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1], tickets[#tickets + 1] = found[i], tonumber(found[i + 1])
  end
  walked_to(set, cursor, #ids == most and tickets[#tickets] or 0, timer)
  length = length - #ids
  return ids, tickets
end

local away, abandoned, ended = 0, 0, 0

-- Away places whose time is over. They come first: they are few, or the line has no others.
local function end_away()
  local ids, tickets = walk(AWAY, 'walk_away', math.ceil(length / 3), m.keep_ttl)
  if #ids == 0 then return end
  local gone, of = {}, {}
  for i, record in ipairs(call('HMGET', HELD, unpack(ids))) do
    if locate_held(tickets[i], record) ~= S_AWAY then
      gone[#gone + 1], of[#of + 1] = ids[i], tickets[i]
    end
  end
  take_out(AWAY, gone)
  abandon(gone, of)
  ended = #gone
end

local function may_skip() return away + abandoned + ended < ABSENT end

-- Who is absent of these places of a set is skipped, or ends.
local function skip_absent(set, ids, tickets)
  local out, skipped, dropped = {}, { {}, {} }, { {}, {} }
  for i, absent in ipairs(absence(ids, tickets)) do
    if absent then
      local to = absent == S_AWAY and skipped or dropped
      out[#out + 1] = ids[i]
      to[1][#to[1] + 1], to[2][#to[2] + 1] = ids[i], tickets[i]
    end
  end
  take_out(set, out)
  go_away(unpack(skipped))
  abandon(unpack(dropped))
  away, abandoned = away + #skipped[1], abandoned + #dropped[1]
end

local function skip_returned(most)
  while most > 0 and may_skip() do
    local step = math.min(most, STRIDE)
    local ids, tickets = walk(RETURNED, 'walk_returned', step, m.idle_ttl)
    skip_absent(RETURNED, ids, tickets)
    most = #ids == step and most - step or 0
  end
end

-- The slot before the present one has a bit of each visitor who is present, but for a few: the line
-- is looked at only where that bitmap has unset bits.
local function skip_waiting(most)
  local head = tonumber(call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2])
  local upto = checked_upto()
  local at = math.max(m.walk_waiting or 0, (head or 0) - 1)
  if not head or at >= upto then return walked_to(WAITING, 'walk_waiting', 0, m.idle_ttl) end

  local slot = math.max(0, m.slot - 1, m.roll_slot or 0) % 5
  local base = read_ring()[slot + 1]
  local byte = math.max(0, math.floor((at + 1 - base) / 8))
  local bits = call('GETRANGE', KEYS[SEEN + slot], byte, byte + SCAN - 1)
  local first, ends = base + 8 * byte, #bits < SCAN

  -- Where the next unset bits are; behind the bitmap none is set.
  local function next_unset()
    if at + 1 < first then return at + 1, first - 1 end
    local from, to = string.find(bits, '[^\255]+', math.floor((at + 1 - first) / 8) + 1)
    if not from and not ends then return end
    from = from or #bits + 1
    if ends and (to or #bits) == #bits then to = math.huge end
    return math.max(at + 1, first + 8 * (from - 1)), first + 8 * to - 1
  end

  -- Who is unseen of the next places: true unless the part of the bitmap ends.
  local ids, tickets = {}, {}
  local function look_on()
    local from, to = next_unset()
    if not from then
      at = first + 8 * #bits - 1
      return false
    end
    at = math.min(to, upto)
    if from > at then return false end
    local step = math.min(most, STRIDE - #ids)
    local found = call('ZRANGEBYSCORE', WAITING, from, at, 'WITHSCORES', 'LIMIT', 0, step)
    for i = 1, #found, 2 do
      local ticket = tonumber(found[i + 1])
      if not has_bit(bits, ticket - first) then
        ids[#ids + 1], tickets[#tickets + 1] = found[i], ticket
      end
    end
    if #found == 2 * step then at = tonumber(found[#found]) end
    most = most - #found / 2 - LOOK_UP
    return at < upto
  end

  local goes_on = true
  while goes_on and most > 0 and may_skip() do
    goes_on = look_on()
    if #ids == STRIDE or not goes_on or most <= 0 then
      skip_absent(WAITING, ids, tickets)
      ids, tickets = {}, {}
    end
  end
  walked_to(WAITING, 'walk_waiting', at < upto and at or 0, m.idle_ttl)
end

end_away()
-- In a check-in period no place is skipped.
if check_in_left() == 0 then
  skip_returned(math.ceil(length / 2))
  skip_waiting(length)
end
if not may_skip() then more = 1 end
-- Who was away had dropped out of the line before.
m.dropped = (m.dropped or 0) + away + abandoned

forget_revoked(FORGETS)

-- Samples that no waiting place and no recent ticket needs.
local function forget_samples(most)
  local head = tonumber(call('ZRANGE', WAITING, 0, 0, 'WITHSCORES')[2])
  local keep_from = head or counter('ticket') + 1
  local first, old = call('ZRANGE', MARKS, 0, most), {}
  for i = 1, #first - 1 do
    -- A sample serves the tickets up to the next one.
    local ticket, at = string.match(first[i], '^(%d+):(%d+)')
    local upto = tonumber(string.match(first[i + 1], '^(%d+)'))
    if upto > keep_from or tonumber(at) + GONE_KEPT > now then break end
    old[#old + 1] = first[i]
  end
  if #old > 0 then call('ZREM', MARKS, unpack(old)) end
  if #old == most then more = 1 end
end
forget_samples(FORGETS)

-- Tickets before every place that is held are read in their order. What is still counted of them
-- ended where no script of this version saw it.
local function forget_addresses()
  local oldest, upto = counter('ticket') + 1, m.counted_upto
  if not upto or upto >= oldest then return end
  for _, set in ipairs({ WAITING, RETURNED, AWAY, ADMITTED }) do
    local first = call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
    if first then oldest = math.min(oldest, tonumber(first)) end
  end
  local from = math.max(m.counted_from or 0, upto - RING) + 1
  local to = math.min(oldest - 1, upto, from + READS - 1, from + RING - 1 - from % RING)
  if to < from then return end
  local entries = call('GETRANGE', JOINED_FROM, 4 * (from % RING), 4 * (to % RING) + 3)
  local ended = {}
  for at in string.gmatch(entries, '()[^%z]') do
    local ticket = from + math.floor((at - 1) / 4)
    if ended[#ended] ~= ticket then
      if #ended == FORGETS then
        to = ticket - 1
        break
      end
      ended[#ended + 1] = ticket
    end
  end
  count_addresses().uncount(ended)
  m.counted_from = to
  save({ 'counted_from' })
end

write_gone_reasons()
forget_addresses()
save({
  'last', 'young', 'credit', 'credit_at', 'dropped', 'walk_waiting', 'walk_returned', 'walk_away',
  'walk_waiting_at', 'walk_returned_at', 'walk_away_at',
})
return { OK, unclaimed, expired, away, abandoned + ended, more }
