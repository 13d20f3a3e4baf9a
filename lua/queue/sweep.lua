-- queue.sweep: clears away what has ended: turns not claimed, sessions over, places unseen,
-- abandoned ones, old reasons. Each part is bounded; `more`: another call would find more that has
-- ended, or more places unseen.
-- Uses: lib/store lib/entity meta withheld revoked gone_reasons addresses end_place held log ring
--       presence absent
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

if not load_meta({
  'ticket', 'slot', 'heard', 'heard_at', 'heard_wall', 'roll_left', 'roll_slot', 'roll_top',
  'young', 'credit', 'credit_at', 'dropped', 'gone_at', 'walk_waiting', 'walk_returned',
  'walk_away', 'counted_upto', 'counted_from',
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

-- The next places of a set in ticket order, from where the last walk stopped: ids and tickets.
local function walk(set, cursor, most)
  local from = '(' .. string.format('%.0f', m[cursor] or 0)
  local found = call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  local ids, tickets = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1], tickets[#tickets + 1] = found[i], tonumber(found[i + 1])
  end
  m[cursor] = #ids == most and tickets[#tickets] or 0
  length = length - #ids
  return ids, tickets
end

local away, abandoned, ended = 0, 0, 0

-- Away places whose time is over. They come first: they are few, or the line has no others.
local function end_away()
  local ids, tickets = walk(AWAY, 'walk_away', math.ceil(length / 3))
  if #ids == 0 then return end
  local gone, of = {}, {}
  for i, record in ipairs(call('HMGET', HELD, unpack(ids))) do
    if locate_held(tickets[i], record) ~= S_AWAY then
      gone[#gone + 1], of[#of + 1] = ids[i], tickets[i]
    end
  end
  if #gone > 0 then call('ZREM', AWAY, unpack(gone)) end
  abandon(gone, of)
  ended = #gone
end

local function skip_absent_step(set, cursor, most)
  local ids, tickets = walk(set, cursor, most)
  local out, skipped, dropped = {}, { {}, {} }, { {}, {} }
  for i, absent in ipairs(absence(ids, tickets)) do
    if absent then
      local to = absent == S_AWAY and skipped or dropped
      out[#out + 1] = ids[i]
      to[1][#to[1] + 1], to[2][#to[2] + 1] = ids[i], tickets[i]
    end
  end
  if #out > 0 then call('ZREM', set, unpack(out)) end
  go_away(unpack(skipped))
  abandon(unpack(dropped))
  away, abandoned = away + #skipped[1], abandoned + #dropped[1]
  return #ids
end

local function skip_absent(set, cursor, most)
  while most > 0 and away + abandoned + ended < ABSENT do
    local step = math.min(most, STRIDE)
    most = skip_absent_step(set, cursor, step) == step and most - step or 0
  end
end

end_away()
-- In a check-in period no place is skipped.
if check_in_left() == 0 then
  skip_absent(RETURNED, 'walk_returned', math.ceil(length / 2))
  skip_absent(WAITING, 'walk_waiting', length)
end
if away + abandoned + ended >= ABSENT then more = 1 end
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
})
return { OK, unclaimed, expired, away, abandoned + ended, more }
