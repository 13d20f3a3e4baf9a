-- target.snapshot: what is known of a target. Counts nothing; writes what time has changed.
-- Uses: lib/store lib/forward rules meta reporters buckets others log state looks
-- KEYS: meta buckets successes failures permits
-- ARGV: now, rules
--       (lib/rules.lua)
-- Reply: OK, doubles: state, version, successes, failures, known reporters, permits in use (0
--        unless it is half open), µs since the last outcome (-1: none is known), then of the window
--        the latencies by upper bound, then everything that was ever reported: successes, failures,
--        latencies by upper bound
-- Codes: OK

if not is_new then move_on() end
save_changes()

local slow = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
if not is_new then
  local oldest = bucket_of(now - window)
  for of_bucket, of in pairs(read_ring()) do
    if of_bucket >= oldest then
      for i = 1, #slow do slow[i] = slow[i] + of[2 + i] end
    end
  end
end

local age = is_new and -1 or now - reported
local taken = state == HALF_OPEN and call('ZCOUNT', PERMITS, '(' .. text(now), '+inf') or 0
local whole = struct.pack('>ddddddd', state, version, successes, failures, known(), taken, age)
return { OK, whole .. struct.pack('>dddddddddddddd', unpack(slow)) .. totals }
