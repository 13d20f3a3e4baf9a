-- Writing rules over the newest of both parts. Needs rules.lua and life.lua.
--
-- First the store takes what the caller has seen of them and it lacks itself: it was emptied, or is
-- an older replica. The first rules give the queue its epoch.
--
-- ARGV begins with now, the epoch to take if there is none, and the newest file and the newest
-- overrides that the caller has seen, each as its revision and packed part (0 and empty: none).
local is_known, stored
local file_revision, file, over_revision, over

-- The newer of what the store holds and what the caller has seen; nil when neither has any.
local function newer(at, seen, part)
  local revision = tonumber(stored[at])
  if tonumber(seen) > (revision or 0) then return tonumber(seen), part end
  return revision, stored[at + 1]
end

local function read_parts()
  is_known = load({})
  if not is_known then m = { offset = 0, last = 0, tick = math.huge } end
  read_clock()
  stored = call('HMGET', META, 'file_revision', 'file', 'over_revision', 'over')
  file_revision, file = newer(1, ARGV[3], ARGV[4])
  over_revision, over = newer(3, ARGV[5], ARGV[6])
  if not over then over_revision, over = 0, cmsgpack.pack({}) end
end

-- The store's clock, unless that went back: later writes have the greater revision also after a
-- loss.
local function next_revision(last) return math.max(wall, last + 1) end

-- Puts the rules that ARGV names from there on into `rules`; whether one of them differs.
local function put_rules(rules, from)
  local differs = false
  for i = from, #ARGV, 2 do
    if rules[ARGV[i]] ~= ARGV[i + 1] then rules[ARGV[i]], differs = ARGV[i + 1], true end
  end
  return differs
end

-- Writes both parts where the store holds older ones; the reply.
local function write_parts()
  local changed = file_revision ~= tonumber(stored[1]) or over_revision ~= tonumber(stored[3])
  if changed then
    write_even_if_full()
    if not is_known then
      call('HSET', META, 'epoch', ARGV[2], 'offset', 0, 'tick', wall, 'last', wall)
      make_held_a_table()
    end
    call(
      'HSET', META, 'file_revision', string.format('%.0f', file_revision), 'file', file,
      'over_revision', string.format('%.0f', over_revision), 'over', over
    )
    settle_rules()
  end
  return { OK, changed and 1 or 0, file_revision, file, over_revision, over }
end
