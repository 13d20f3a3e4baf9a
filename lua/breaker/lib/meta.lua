-- What the meta hash keeps of a target. Needs lib/store.lua, lib/forward.lua and rules.lua.
-- KEYS: meta. ARGV: now (store.lua), rules (rules.lua). Reply: none. Scripts read and write it.
local floor, min, max = math.floor, math.min, math.max

local now -- the target's time, in microseconds: the store's clock plus the offset
local is_new -- the store holds nothing of it
local is_changed = false -- there is something that a call must write that only looks

local latest, offset -- its time when it was written last; what its clock is ahead of the store's
local state, version, changed -- the version of the last change of state, and its time
local reported -- the time of the last outcome
local probe_successes, probe_failures -- what probes reported since it is half open
local successes, failures -- in the call's own window
local ring_window, keeps -- the window of the buckets, and where outcomes are kept
local ring_good, ring_bad -- with keeps = IN_BUCKETS: successes and failures in the buckets
local bucket -- the number of the present bucket
local number -- of the last outcome in the log
local totals, reporters -- everything that was ever reported, and who reported: packed
local packed_others -- other windows in use (others.lua), nil where all calls agree

local NUMBERS = '>dddddddddddddd'
local COUNTS = 16 -- successes, failures, and latencies by their upper bounds
local TOTALS = '>' .. string.rep('d', COUNTS)

local function load()
  read_wall()
  local kept = call('HMGET', META, 'numbers', 'totals', 'reporters', 'others')
  is_new = not kept[1]
  if is_new then
    now, offset, state, version, changed, reported = wall, 0, CLOSED, 0, wall, wall
    probe_successes, probe_failures, ring_good, ring_bad, bucket, number = 0, 0, 0, 0, 0, 0
    ring_window, keeps, successes, failures = window, kept_in, 0, 0
    totals, reporters = string.rep('\0', 8 * COUNTS), ''
  else
    local before
    latest, before, state, version, changed, reported, probe_successes, probe_failures, ring_good,
      ring_bad, bucket, number, ring_window, keeps = struct.unpack(NUMBERS, kept[1])
    totals, reporters, packed_others = kept[2], kept[3], kept[4]
    now, offset = forward(before, latest)
    is_changed = offset ~= before
  end
end

local function text(whole)
  return string.format('%.0f', whole)
end

local longest -- the longest window in use

-- A TTL only removes leftovers: one window after its last outcome nothing of a target means
-- anything, and each key has at least 3 then.
local function expire(key)
  call('PEXPIRE', key, text(4 * longest / 1000))
end
