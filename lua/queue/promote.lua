-- queue.promote: one tick: queue time moves on, and the head of the line becomes ready as far as
-- capacity, rate and pace allow. At most 100 heads are looked at; `more` says that another call
-- would promote more.
-- Uses: lib/store lib/entity meta state withheld rules gone_reasons addresses end_place take_out
--       joined_at join_times held log health pace slices ring presence absent turns adaptive
--       totals
-- KEYS: meta waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4} revoked
--       joined_from per_address
-- ARGV: now, state, version, probes, open_for, min, max, aim, min_samples, bounds, totals
--       (what was read of the target that the queue follows: its state, 0 when nothing was, the
--       version of that, and two of its rules, times in µs; the bounds of an adaptive batch, 0
--       none, its success_target in millionths, how many bounds of latencies are within its
--       p95_target, 0 without; and the target's totals as doubles, empty when nothing was read:
--       successes, failures, and latencies by their upper bounds)
-- Reply: OK, promoted, more (1 or 0), late_us, gone away, abandoned, why the adaptive batch took a
--        step (lib/adaptive.lua, 0 for none), then the number of waits and for each count, wait_ms;
--        then the number of estimates and for each its ms and the true ms; or NO_RULES
-- Codes: OK NO_RULES

-- Heads that are looked at together, and absent ones after which a call ends: each costs as much as
-- several turns. So do heads that stand far apart: with them a call ends at once.
local HEADS, MOST_ABSENT = 50, 50

if not load_meta({
  'ticket', 'slot', 'heard', 'heard_at', 'heard_wall', 'roll_left', 'roll_slot', 'roll_top',
  'young', 'busy', 'turns', 'counts_since', 'dropped', 'withheld_until', 'late', 'health_state',
  'health_at', 'counted_upto', 'waits', unpack(SLICE_FIELDS),
}) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()

-- Before the tick moves its time on. A second gap between two ticks, before one in time could give
-- slots away, is a late scheduler, which must still get on.
local function watch_clock()
  local late = is_clock_trusted() and 0 or 1
  if late == 1 and m.late ~= 1 then withhold() end
  if late == 0 and now < (m.withheld_until or 0) then late = m.late or 0 end
  if late ~= (m.late or 0) then
    m.late = late
    save({ 'late' })
  end
end
watch_clock()

-- What the clock leapt, back or ahead, becomes part of the offset: from here it runs on as before.
local tick_before = m.tick
m.offset, m.tick = now - wall, now
refresh_rules()

-- What this scheduler read of the target. While a reading is in force an older version than its is
-- never taken, and the same one only says that it still holds. Once it has lapsed, the store has
-- lost what was newer.
local function take_reading(state, version, probes, open_for)
  local before = health()
  if before == 0 or version > m.health_version then
    -- Also after a lapse: that the store lost the reading does not mean that the target recovered.
    if state == BREAKER_CLOSED and m.health_state > BREAKER_CLOSED then m.ramp_at = now end
    m.health_state, m.health_version = state, version
  elseif version < m.health_version then
    return
  end
  m.health_at, m.probes, m.open_for = now, probes, open_for
  save({ 'health_state', 'health_version', 'health_at', 'probes', 'open_for', 'ramp_at' })
end

local reads, adaptive, step = ARGV[2] ~= '0', ARGV[7] ~= '0', 0
if reads or adaptive then m.health_state = m.health_state or 0 end
load_health()
if reads then
  take_reading(tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
end
local _, _, promotes = state_now()
if adaptive then
  step = adapt(
    promotes, tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]),
    tonumber(ARGV[10]), ARGV[11]
  )
end
follow_health()
local depth = call('ZCARD', WAITING) + call('ZCARD', RETURNED)

-- When no visitor has polled for first_poll_ttl, admission is down or all have left: a turn given
-- now would be missed. So the line waits until a visitor polls, who then opens a check-in period.
if depth == 0 or not promotes or silence() > m.first_poll_ttl then
  count_nothing()
  m.busy = 0
  save({ 'offset', 'last', 'tick', 'busy' })
  return { OK, 0, 0, 0, 0, 0, step, 0, 0 }
end

read_log()
end_first_polls()

-- The line in ticket order, present and returned places merged. Nothing is taken out of the sets
-- before all is decided, so each is read on from where it was read to.
local sides = {}
for k, set in ipairs({ WAITING, RETURNED }) do sides[k] = { set = set, at = 1 } end

-- The next n of the line: ids, tickets, sets.
local function heads(n)
  for _, side in ipairs(sides) do
    local read = #side / 2
    local more = n - (read - (side.at - 1) / 2)
    if more > 0 and not side.at_end then
      local found = call('ZRANGE', side.set, read, read + more - 1, 'WITHSCORES')
      side.at_end = #found < 2 * more
      for k = 1, #found, 2 do
        side[#side + 1], side[#side + 2] = found[k], tonumber(found[k + 1])
      end
    end
  end
  local ids, tickets, sets = {}, {}, {}
  local one, other = sides[1], sides[2]
  for i = 1, n do
    local a, b = one[one.at + 1], other[other.at + 1]
    if not a and not b then break end
    local side = (not b or a and a < b) and one or other
    ids[i], tickets[i], sets[i] = side[side.at], side[side.at + 1], side.set
    side.at = side.at + 2
  end
  return ids, tickets, sets
end

local by_rate, late = free_by_rate(m.busy == 1 and tick_before)
local by_room = room()
local free = math.min(by_rate, by_room)
-- In a check-in period promotion stops before a head that has not polled since it began.
local checks_in, is_stopped = check_in_left() > 0, false
local promoted, promoted_tickets, looked, apart = {}, {}, 0, false
local away, away_tickets, dropped, dropped_tickets = {}, {}, {}, {}
local out = { [WAITING] = {}, [RETURNED] = {} }
while
  free - #promoted >= 1
  and looked < MAX_CHUNK
  and #away + #dropped < MOST_ABSENT
  and not (is_stopped or apart)
do
  -- Where many are absent twice as many are looked at each time.
  local wanted = math.min(math.max(free - #promoted, looked), HEADS, MAX_CHUNK - looked)
  local ids, tickets, sets = heads(math.floor(wanted))
  if #ids == 0 then break end
  looked, apart = looked + #ids, tickets[#ids] - tickets[1] > COMPARED * #ids
  for i, absent in ipairs(absence(ids, tickets)) do
    is_stopped = checks_in and absent
    if is_stopped or free - #promoted < 1 then break end
    local of, numbers = promoted, promoted_tickets
    if absent == S_AWAY then
      of, numbers = away, away_tickets
    elseif absent then
      of, numbers = dropped, dropped_tickets
    end
    of[#of + 1], numbers[#numbers + 1] = ids[i], tickets[i]
    local from = out[sets[i]]
    from[#from + 1] = ids[i]
  end
end

for set, ids in pairs(out) do take_out(set, ids) end
go_away(away, away_tickets)
abandon(dropped, dropped_tickets)
write_gone_reasons()
local count = #promoted
if count > 0 then
  admit(promoted, promoted_tickets)
  record(count)
  spend(count)
  write_log()
end
m.dropped = (m.dropped or 0) + #away + #dropped
local left = depth - count - #away - #dropped
local more = left > 0 and free - count >= 1 and not is_stopped
m.busy = left > 0 and 1 or 0
-- An adaptive batch was used up when places were left for want of rate alone, while the last
-- interval held nearly all of it: between two slices of a pace that is hardly used some wait, too.
if
  adaptive and m.adaptive_used == 0
  and left > 0 and not is_stopped and by_rate - count < 1 and by_room - count >= 1
  and 4 * promoted_since(now - m.interval) >= 3 * m.batch
then
  m.adaptive_used = 1
  save({ 'adaptive_used' })
end
-- While the target is probed and the pace comes back turns say nothing of how fast the line moves.
if is_stopped or health() == BREAKER_HALF_OPEN or quarters() < QUARTERS then
  count_nothing()
else
  local turns = left > 0 and count or math.max(count, free)
  count_turns(turns, by_room, depth, left, more, now - tick_before)
end
save({ 'offset', 'last', 'tick', 'busy', 'young', unpack(SLICE_FIELDS) })

-- What the promoted waited, by the samples in their range, and what was estimated for every 64th of
-- them.
local reply = { OK, count, more and 1 or 0, late, #away, #dropped, step }
local waits, estimates, known = {}, {}, 0
if count > 0 then
  local joins = join_times(promoted_tickets[1], promoted_tickets[count], count)
  for _, number in ipairs(promoted_tickets) do
    local since = joins(number)
    -- The sample of a place that was away for long may be forgotten.
    if since then
      known = known + 1
      local wait = math.floor((now - since) / 1000)
      if waits[#waits] == wait and #waits > 0 then
        waits[#waits - 1] = waits[#waits - 1] + 1
      else
        waits[#waits + 1], waits[#waits + 2] = 1, wait
      end
    end
    if number % COMPARED == 0 then
      for _, sample in ipairs(call('ZRANGEBYSCORE', MARKS, number, number)) do
        local at, estimate = string.match(sample, '^%d+:(%d+):%d+:(%d+)$')
        if at then
          local waited = math.floor((now - tonumber(at)) / 1000)
          estimates[#estimates + 1], estimates[#estimates + 2] = tonumber(estimate), waited
        end
      end
    end
  end
  count_waits(waits, count - known)
end
for _, list in ipairs({ waits, estimates }) do
  reply[#reply + 1] = #list / 2
  for _, value in ipairs(list) do reply[#reply + 1] = value end
end
return reply
