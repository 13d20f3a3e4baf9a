-- queue.promote: one tick: queue time moves on, and the head of the line becomes ready as far as capacity,
-- rate and pace allow. At most 200 heads are looked at; `more` says that another call would promote more.
-- Uses: meta state revoked rules seen absent line pace rates
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock)
-- Reply: OK, promoted, more (1 or 0), late_us, gone away, abandoned, then the number of waits and for each
--        count, wait_ms; then the number of estimates and for each told_ms, true_ms; or NO_RULES
-- Codes: OK NO_RULES

local TOLD_EVERY = 64

if not load({
  'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'young', 'busy', 'bin_at', 'bin_count', 'dropped',
  'withheld_until', 'late', unpack(PACE_FIELDS),
}) then
  return { NO_RULES }
end
read_clock()
watch_clock()
-- What the clock leapt, back or ahead, becomes part of the offset: from here it runs on as before.
local tick_before = m.tick
m.offset, m.tick = now - wall, now
refresh_rules()
local _, _, promotes = state_now()
local depth = call('ZCARD', WAITING) + call('ZCARD', RETURNED)

-- When nobody has been heard for first_poll_ttl, admission is away or everyone is: a turn given now would
-- be nobody's, so the line waits until somebody is heard again.
local silent = now - (m.heard_at or 0) > m.first_poll_ttl
if depth == 0 or not promotes or silent then
  rate_bin(0, false)
  m.busy = 0
  save({ 'offset', 'last', 'tick', 'busy' })
  return { OK, 0, 0, 0, 0, 0, 0, 0 }
end

read_log()
age()

-- The first n of the line, present or returned, in ticket order: triples of id, ticket, set.
local function heads(n)
  local lines, found = {}, {}
  for _, set in ipairs({ WAITING, RETURNED }) do
    lines[#lines + 1] = { set = set, at = 1, call('ZRANGE', set, 0, n - 1, 'WITHSCORES') }
  end
  for i = 1, n do
    local least
    for _, side in ipairs(lines) do
      local ticket = tonumber(side[1][side.at + 1])
      if ticket and (not least or ticket < least.ticket) then
        least = { id = side[1][side.at], ticket = ticket, set = side.set, side = side }
      end
    end
    if not least then break end
    least.side.at = least.side.at + 2
    found[i] = least
  end
  return found
end

local free, late = free_by_rate(m.busy == 1 and tick_before)
free = math.min(free, room())
local promoted, looked, away, abandoned = {}, 0, 0, 0
while free - #promoted >= 1 and looked < MAX_CHUNK do
  local found = heads(math.min(free - #promoted, MAX_CHUNK - looked))
  if #found == 0 then break end
  looked = looked + #found
  local tickets, out = {}, { [WAITING] = {}, [RETURNED] = {} }
  for i, place in ipairs(found) do
    tickets[i] = place.ticket
    table.insert(out[place.set], place.id)
  end
  for set, ids in pairs(out) do
    if #ids > 0 then call('ZREM', set, unpack(ids)) end
  end
  local gone = absence(tickets)
  for i, place in ipairs(found) do
    if not gone[i] then
      promoted[#promoted + 1] = place
    elseif gone[i] == S_AWAY then
      go_away(place.id, place.ticket)
      away = away + 1
    else
      call('HDEL', HELD, place.id)
      bury({ place.id }, { place.ticket }, ABANDONED)
      abandoned = abandoned + 1
    end
  end
end

local count = #promoted
if count > 0 then
  local ids, tickets = {}, {}
  for i, place in ipairs(promoted) do ids[i], tickets[i] = place.id, place.ticket end
  admit(ids, tickets)
  record(count)
  spend(count)
  write_log()
end
m.dropped = (m.dropped or 0) + away + abandoned
m.busy = depth - count - away - abandoned > 0 and 1 or 0
rate_bin(count, true)
save({ 'offset', 'last', 'tick', 'busy', 'young', unpack(PACE_FIELDS) })

-- What the promoted waited, by the marks in their range, and what every 64th of them had been told.
local reply = { OK, count, (free - count >= 1 and m.busy == 1) and 1 or 0, late, away, abandoned }
local waits, told = {}, {}
if count > 0 then
  local from, to = promoted[1].ticket, promoted[count].ticket
  local since, next_mark = joined_at(from) or now, 1
  local marks = call('ZRANGEBYSCORE', MARKS, '(' .. string.format('%.0f', from), to, 'LIMIT', 0, 2 * MAX_CHUNK)
  for _, place in ipairs(promoted) do
    while marks[next_mark] do
      local ticket, at = string.match(marks[next_mark], '^(%d+):(%d+)')
      if tonumber(ticket) > place.ticket then break end
      since, next_mark = tonumber(at), next_mark + 1
    end
    local wait = math.floor((now - since) / 1000)
    if waits[#waits] == wait and #waits > 0 then
      waits[#waits - 1] = waits[#waits - 1] + 1
    else
      waits[#waits + 1], waits[#waits + 2] = 1, wait
    end
    if place.ticket % TOLD_EVERY == 0 then
      local mark = call('ZRANGEBYSCORE', MARKS, place.ticket, place.ticket, 'LIMIT', 0, 1)[1]
      local at, estimate = string.match(mark or '', '^%d+:(%d+):%d+:(%d+)$')
      if at then
        told[#told + 1], told[#told + 2] = tonumber(estimate), math.floor((now - tonumber(at)) / 1000)
      end
    end
  end
end
for _, list in ipairs({ waits, told }) do
  reply[#reply + 1] = #list / 2
  for _, value in ipairs(list) do reply[#reply + 1] = value end
end
return reply
