-- queue.sketch: a line in outline: the tickets at its first ranks, then in steps of at most 3 %.
-- Equal steps in a row compress well on the board.
-- Reports that visitors have polled whom the caller answered by itself since its last call.
-- Uses: lib/store lib/entity meta state held ring presence seen outcomes shown waits
-- KEYS: meta waiting returned away held seen:{0-4}
-- ARGV: now, heard, line, from
--       (heard: 1 if visitors have polled; line: 0 those in line since their join, 1 the returned;
--       from: the first rank, 0 = next)
-- Reply: OK, epoch, outline (doubles: when the slot was opened in which visitors are seen, in µs
--        of queue time, 0 none; local_answers; what is left of a check-in period, in µs; how many
--        have returned; the length of the line; the rank to go on from, 0 none; then rank and
--        ticket of each point); and what waits follow from (lib/waits.lua); or NO_RULES
-- Codes: OK NO_RULES

-- A call is well below a millisecond with ten million in line.
local EXACT, MOST_POINTS, EQUAL_STEPS = 64, 128, 8

if not load_meta(LINE_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()
if ARGV[2] == '1' then hear() end
local line, rank = ARGV[3] == '1' and RETURNED or WAITING, tonumber(ARGV[4])
local length = call('ZCARD', line)
returned = call('ZCARD', RETURNED)

local function point(at, ticket)
  out[used + 1], out[used + 2] = at, tonumber(ticket)
  used = used + 2
end

out[1], out[2], out[3] = m.slot_at or 0, m.local_answers or 0, check_in_left()
out[4], out[5] = returned, length
used = 6

local points_end = used + 2 * MOST_POINTS
if rank == 0 then
  local first = call('ZRANGE', line, 0, EXACT - 1, 'WITHSCORES')
  for i = 2, #first, 2 do point(i / 2 - 1, first[i]) end
  rank = EXACT
end
local step, steps = 0, 0
while rank < length and used < points_end do
  point(rank, call('ZRANGE', line, rank, rank, 'WITHSCORES')[2])
  if steps % EQUAL_STEPS == 0 then step = math.floor(rank * 0.03) + 1 end
  steps = steps + 1
  -- The last place is a point.
  rank = rank < length - 1 and math.min(rank + step, length - 1) or length
end
out[6] = rank < length and rank or 0
return reply_with_waits(promotes)
