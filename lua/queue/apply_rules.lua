-- queue.apply_rules: writes rules. First the store takes what the caller has seen of them and it lacks itself:
-- it was emptied, or is an older replica. Then, by mode, `seed`: the caller's file at revision 0, only where
-- there is none; `file`: a scheduler's file, where it differs; `override`: named rules until an end.
-- The first rules give the queue its epoch.
-- Uses: meta revoked rules
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), mode (seed, file, override), epoch to take if there is none,
--       end (µs, 0 none; overrides only), the newest file and the newest overrides that the caller has seen,
--       each as its revision and packed part (0 and empty: none), then name and value pairs ('-': takes an
--       override back)
-- Reply: OK, changed (1 or 0), then of the file and of the overrides the revision and the packed part; or
--        NO_RULES for an override of a queue without rules
-- Codes: OK NO_RULES

local known = load({})
local mode, epoch, till, PAIRS = ARGV[2], ARGV[3], tonumber(ARGV[4]), 9
if not known then m = { offset = 0, last = 0, tick = math.huge } end
read_clock()

local stored = call('HMGET', META, 'file_revision', 'file', 'over_revision', 'over')
-- The newer of what the store holds and what the caller has seen.
local function newer(at)
  local revision, seen = tonumber(stored[at]), tonumber(ARGV[at + 4])
  if seen > (revision or 0) then return seen, ARGV[at + 5] end
  return revision, stored[at + 1]
end
local file_revision, file = newer(1)
local over_revision, over = newer(3)
if mode == 'override' and not file then return { NO_RULES } end
if not over then over_revision, over = 0, cmsgpack.pack({}) end

-- The store's clock, unless that went back: later writes have the greater revision also after a loss.
local function next_revision(last) return math.max(wall, last + 1) end

if mode == 'override' then
  local overrides = cmsgpack.unpack(over)
  for i = PAIRS, #ARGV, 2 do
    overrides[ARGV[i]] = ARGV[i + 1] ~= '-' and { ARGV[i + 1], till } or nil
  end
  over_revision, over = next_revision(over_revision), cmsgpack.pack(overrides)
elseif mode == 'file' or not file then
  local rules, differs = file and cmsgpack.unpack(file) or {}, file_revision == 0 or not file
  for i = PAIRS, #ARGV, 2 do
    if rules[ARGV[i]] ~= ARGV[i + 1] then rules[ARGV[i]], differs = ARGV[i + 1], true end
  end
  if differs then
    file_revision = mode == 'file' and next_revision(file_revision or 0) or 0
    file = cmsgpack.pack(rules)
  end
end

local changed = file_revision ~= tonumber(stored[1]) or over_revision ~= tonumber(stored[3])
if changed then
  write_even_if_full()
  if not known then
    call('HSET', META, 'epoch', epoch, 'offset', 0, 'tick', wall, 'last', wall)
    make_held_a_table()
  end
  call(
    'HSET', META, 'file_revision', string.format('%.0f', file_revision), 'file', file,
    'over_revision', string.format('%.0f', over_revision), 'over', over
  )
  settle_rules()
end
return { OK, changed and 1 or 0, file_revision, file, over_revision, over }
