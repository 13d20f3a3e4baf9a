-- What the meta hash keeps of a target. Needs lib/store.lua, lib/forward.lua and rules.lua.
-- KEYS: meta. ARGV: now, by store.lua; rules, by rules.lua. Reply: none; a part reads and writes it.
local floor, min, max = math.floor, math.min, math.max

local now -- the target's time, in microseconds: the store's clock plus the offset
local is_new -- the store holds nothing of it
local is_changed = false -- there is something that a call must write that only looks

local latest, offset -- its time when it was written last; what its clock is ahead of the store's
local state, version, changed -- the version of the last change of state, and its time
local reported -- the time of the last outcome
local probe_successes, probe_failures -- what probes reported since it is half open
local successes, failures -- in the window
local bucket -- the number of the present bucket
local number -- of the last outcome in the log
local totals, reporters -- everything that was ever reported, and who reported: packed

local NUMBERS = '>dddddddddddddd'
local COUNTS = 16 -- successes, failures, and latencies by their upper bounds
local TOTALS = '>' .. string.rep('d', COUNTS)

-- Loads it. What is counted, and for how long, is as the last outcome had it: a look of a service
-- with an older configuration forgets nothing. Returns what the call says of that.
local function load()
  read_wall()
  local own_window, own_kind = window, kept_in
  local kept = call('HMGET', META, 'numbers', 'totals', 'reporters')
  is_new = not kept[1]
  if is_new then
    now, offset, state, version, changed, reported = wall, 0, CLOSED, 0, wall, wall
    probe_successes, probe_failures, successes, failures, bucket, number = 0, 0, 0, 0, 0, 0
    totals, reporters = string.rep('\0', 8 * COUNTS), ''
  else
    local before
    latest, before, state, version, changed, reported, probe_successes, probe_failures, successes,
      failures, bucket, number, window, kept_in = struct.unpack(NUMBERS, kept[1])
    totals, reporters = kept[2], kept[3]
    now, offset = forward(before, latest)
    is_changed = offset ~= before
  end
  return own_window, own_kind
end

local function save()
  local numbers = struct.pack(NUMBERS, now, offset, state, version, changed, reported,
    probe_successes, probe_failures, successes, failures, bucket, number, window, kept_in)
  call('HSET', META, 'numbers', numbers, 'totals', totals, 'reporters', reporters)
end

local function text(whole)
  return string.format('%.0f', whole)
end

-- A TTL only collects rubbish: one window after its last outcome nothing of a target means
-- anything, and each key has at least 3 then.
local function expire(key)
  call('PEXPIRE', key, text(4 * window / 1000))
end
