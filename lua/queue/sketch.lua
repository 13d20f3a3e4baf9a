-- queue.sketch: a line in outline: the tickets at its first ranks, then at ranks that grow by 3 %.
-- Reports that visitors have polled whom the caller answered by itself since its last call.
-- Uses: lib/store lib/entity meta state held presence seen outcomes shown waits
-- KEYS: meta waiting returned away held seen:{0-4}
-- ARGV: now, heard, line, from
--       (heard: 1 if visitors have polled; line: 0 those in line since their join, 1 the returned;
--       from: the first rank, 0 = next)
-- Reply: OK, epoch, outline (doubles: when the slot was opened in which visitors are seen, in µs
--        of queue time, 0 none; local_answers; how many have returned; the length of the line; the
--        rank to go on from, 0 none; then rank and ticket of each point); and what waits follow
--        from (lib/waits.lua); or NO_RULES
-- Codes: OK NO_RULES

-- A call is well below a millisecond with ten million in line.
local EXACT, MOST_POINTS = 64, 192

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

out[1], out[2], out[3], out[4] = m.slot_at or 0, m.local_answers or 0, returned, length
used = 5
if rank == 0 then
  local first = call('ZRANGE', line, 0, EXACT - 1, 'WITHSCORES')
  for i = 2, #first, 2 do point(i / 2 - 1, first[i]) end
  rank = EXACT
end
while rank < length and used < 2 * MOST_POINTS do
  point(rank, call('ZRANGE', line, rank, rank, 'WITHSCORES')[2])
  -- The last place is a point.
  rank = rank < length - 1 and math.min(math.floor(rank * 1.03) + 1, length - 1) or length
end
out[5] = rank < length and rank or 0
return reply_with_waits(promotes)
