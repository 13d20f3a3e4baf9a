-- queue.sketch: a line in outline: the tickets at its first ranks, then in steps of at most 3 %.
-- Equal steps in a row compress well on the board.
-- Reports that visitors have polled whom the caller answered by itself since its last call.
-- Uses: lib/store lib/entity meta state held ring presence seen outcomes shown outlook waits
-- KEYS: meta waiting returned away held seen:{0-4} outlines
-- ARGV: now, heard, line, from, oldest
--       (heard: 1 if visitors have polled; line: 0 those in line since their join, 1 the returned;
--       from: the first rank, 0 = next; oldest: the outline may be one that was made for another
--       caller at most so many µs ago)
-- Reply: OK, epoch, outline (doubles: when the slot was opened in which visitors are seen, in µs
--        of queue time, 0 none; local_answers; what is left of a check-in period, in µs; how many
--        have returned; the age of what follows, in µs; the length of the line; the rank to go on
--        from, 0 none; then rank and ticket of each point); and what waits follow from
--        (lib/waits.lua); or NO_RULES
-- Codes: OK NO_RULES

-- A call is well below a millisecond with ten million in line.
local EXACT, MOST_POINTS, EQUAL_STEPS = 64, 128, 8

if not load_meta(LINE_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()
if ARGV[2] == '1' then hear() end
local line, oldest = ARGV[3] == '1' and RETURNED or WAITING, tonumber(ARGV[5])
local part = ARGV[3] .. ':' .. ARGV[4]
returned = call('ZCARD', RETURNED)

-- Length, next rank, ranks and tickets, packed.
local function make()
  local rank, length = tonumber(ARGV[4]), call('ZCARD', line)
  local numbers, count = { length, 0 }, 2
  local function point(at, ticket)
    numbers[count + 1], numbers[count + 2] = at, tonumber(ticket)
    count = count + 2
  end

  if rank == 0 then
    local first = call('ZRANGE', line, 0, EXACT - 1, 'WITHSCORES')
    for i = 2, #first, 2 do point(i / 2 - 1, first[i]) end
    rank = EXACT
  end
  local step, steps = 0, 0
  -- The last place is in the part before it: so the parts begin at the same ranks in every line.
  while rank < length and (count < 2 + 2 * MOST_POINTS or rank == length - 1) do
    point(rank, call('ZRANGE', line, rank, rank, 'WITHSCORES')[2])
    if steps % EQUAL_STEPS == 0 then step = math.floor(rank * 0.03) + 1 end
    steps = steps + 1
    -- The last place is a point.
    rank = rank < length - 1 and math.min(rank + step, length - 1) or length
  end
  numbers[2] = rank < length and rank or 0
  return struct.pack(doubles(count), unpack(numbers, 1, count))
end

-- The one that was made last, and its age by both clocks: queue time can stand still, and the
-- store's own clock can leap.
local KEPT = '>c8dd'
local function known()
  local kept = oldest > 0 and call('HGET', OUTLINES, part)
  if not kept then return end
  local epoch, made_at, made_at_wall, behind = struct.unpack(KEPT, kept)
  local age, age_wall = now - made_at, wall - made_at_wall
  if epoch ~= m.epoch or math.min(age, age_wall) < 0 then return end
  if math.max(age, age_wall) > oldest then return end
  return string.sub(kept, behind), math.max(age, age_wall)
end

local outline, age = known()
if not outline then
  outline, age = make(), 0
  -- If Redis takes no writes, each caller has one made.
  redis.pcall('HSET', OUTLINES, part, struct.pack(KEPT, m.epoch, now, wall) .. outline)
end
out[1], out[2], out[3] = m.slot_at or 0, m.local_answers or 0, check_in_left()
out[4], out[5], used = returned, age, 5
local answer = reply_with_waits(promotes)
answer[3] = answer[3] .. outline
return answer
