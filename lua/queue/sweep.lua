-- queue.sweep: clears away what has ended: turns not claimed, sessions over, places unseen, abandoned ones,
-- old notes. Each part is bounded; `more` says that another call would find more that has ended.
-- Uses: meta revoked seen absent line pace
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock)
-- Reply: OK, unclaimed, expired, gone away, abandoned, more (1 or 0); or NO_RULES
-- Codes: OK NO_RULES

local ENDED_CHUNK, WALK, SMALL_WALK = 50, 100, 50

if not load({
  'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'young', 'credit', 'credit_at', 'dropped',
  'walk_waiting', 'walk_returned', 'walk_away', 'walk_gone',
}) then
  return { NO_RULES }
end
read_clock()
age()
local more = 0

-- Turns or sessions that have ended: out of their sets, with the reason noted.
local function end_of(set, reason)
  local ids = call('ZRANGEBYSCORE', set, '-inf', now, 'LIMIT', 0, ENDED_CHUNK)
  if #ids == 0 then return 0 end
  if #ids == ENDED_CHUNK then more = 1 end
  local known, tickets = {}, {}
  if reason == UNCLAIMED then read_log() end
  for i, record in ipairs(call('HMGET', HELD, unpack(ids))) do
    -- Without a record the store has lost writes: the place only goes.
    if record then
      local _, ticket, since = struct.unpack(RECORD, record)
      known[#known + 1], tickets[#tickets + 1] = ids[i], ticket
      if reason == UNCLAIMED then give_back(since) end
    end
  end
  if reason == UNCLAIMED then write_log() end
  call('ZREM', set, unpack(ids))
  call('ZREM', ADMITTED, unpack(ids))
  call('HDEL', HELD, unpack(ids))
  bury(known, tickets, reason)
  return #ids
end

-- The next places of a set in ticket order, from where the last walk stopped: ids and tickets.
local function walk(set, cursor, length)
  local from = '(' .. string.format('%.0f', m[cursor] or 0)
  local found = call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, length)
  local ids, tickets = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1], tickets[#tickets + 1] = found[i], tonumber(found[i + 1])
  end
  m[cursor] = #ids == length and tickets[#tickets] or 0
  return ids, tickets
end

local unclaimed = end_of(READY, UNCLAIMED)
local expired = end_of(ACTIVE, EXPIRED)

local away, abandoned = 0, 0
local function pass_over(set, cursor, length)
  local ids, tickets = walk(set, cursor, length)
  local gone = absence(tickets)
  for i, id in ipairs(ids) do
    if gone[i] then
      call('ZREM', set, id)
      if gone[i] == S_AWAY then
        go_away(id, tickets[i])
        away = away + 1
      else
        call('HDEL', HELD, id)
        bury({ id }, { tickets[i] }, ABANDONED)
        abandoned = abandoned + 1
      end
    end
  end
end
pass_over(WAITING, 'walk_waiting', WALK)
pass_over(RETURNED, 'walk_returned', SMALL_WALK)
m.dropped = (m.dropped or 0) + away + abandoned

local ids, tickets = walk(AWAY, 'walk_away', SMALL_WALK)
if #ids > 0 then
  for i, record in ipairs(call('HMGET', HELD, unpack(ids))) do
    if locate_held(tickets[i], record) ~= S_AWAY then
      call('ZREM', AWAY, ids[i])
      call('HDEL', HELD, ids[i])
      bury({ ids[i] }, { tickets[i] }, ABANDONED)
      abandoned = abandoned + 1
    end
  end
end

-- Notes older than they are told: most stand at the front, because tickets end roughly in order; a walk
-- finds the rest.
local function forget(stones)
  local old = {}
  for _, stone in ipairs(stones) do
    local _, _, at = read_stone(stone)
    if at + GONE_KEPT <= now then old[#old + 1] = stone end
  end
  if #old > 0 then call('ZREM', GONE, unpack(old)) end
  return #old
end
if forget(call('ZRANGE', GONE, 0, 0)) > 0 and forget(call('ZRANGE', GONE, 0, WALK - 1)) >= WALK / 2 then
  more = 1
end
forget((walk(GONE, 'walk_gone', SMALL_WALK)))

forget_revoked(WALK)

-- Marks that no place in line and no young ticket needs.
local keep_from = head() or m.ticket + 1
local function forget_marks(most)
  local first, old = call('ZRANGE', MARKS, 0, most), {}
  for i = 1, #first - 1 do
    -- A mark serves the tickets up to the next one.
    local ticket, at = string.match(first[i], '^(%d+):(%d+)')
    local upto = tonumber(string.match(first[i + 1], '^(%d+)'))
    if upto > keep_from or tonumber(at) + GONE_KEPT > now then break end
    old[#old + 1] = first[i]
  end
  if #old > 0 then call('ZREM', MARKS, unpack(old)) end
  return #old
end
if forget_marks(1) > 0 then forget_marks(SMALL_WALK) end

save({
  'last', 'young', 'credit', 'credit_at', 'dropped', 'walk_waiting', 'walk_returned', 'walk_away', 'walk_gone',
})
return { OK, unclaimed, expired, away, abandoned, more }
