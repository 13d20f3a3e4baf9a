-- target.record: outcomes of calls to a target, one by one or counted, in order; each is answered
-- with the window and the state after it.
-- Uses: lib/store lib/forward lib/repeated rules meta reporters buckets others log state
-- KEYS: meta buckets successes failures permits (call)*
--       (the calls that have names, one for each outcome, or none)
-- ARGV: now, rules, (outcome)*
--       (rules: lib/rules.lua; an outcome: successes and failures (4 bytes each), latency (1: the
--       number of its upper bound, 0 none), reporter (8: a digest), with a name the
--       fingerprint (8), then the permit that it had, if any)
-- Reply: OK, outcomes (four doubles each: a code, successes, failures, state)
-- Codes: OK REPEATED MISMATCH TOO_MANY

local KEYS_BEFORE, ARGS_BEFORE = 5, 2

-- Redis refuses for want of memory only what a script writes first, and what leaves the window is
-- taken away before the rest is written.
call('HSET', META, 'totals', totals)
local are_named = #KEYS > KEYS_BEFORE
if is_new then version = wall end
local coming = 0
if keeps_log then
  for at = ARGS_BEFORE + 1, #ARGV do
    local good_ones, bad_ones = struct.unpack('>I4I4', ARGV[at])
    local n = good_ones + bad_ones
    if kept_in ~= IN_LOG or n <= MOST_LOGGED then coming = coming + n end
  end
end
if others then windows.bring(coming) end
if begins_log then log.forget() end
move_on()
-- A call that brought no outcome may have moved the window on, and renewed nothing.
local renews = is_new or is_joined or bucket_of(reported) < bucket
if keeps_log and not are_named then log.make_room(coming) end
local all = { struct.unpack(TOTALS, totals) }

-- Whether an outcome of a half-open target is a probe: that of a call which has its permit still,
-- or of any call while no caller has one.
local out -- permits in use, once they were counted
local function is_probe(permit)
  if permit ~= '' then
    local ends = tonumber(call('ZSCORE', PERMITS, permit) or 0)
    if ends > now then
      call('ZREM', PERMITS, permit)
      if out then out = out - 1 end
    end
    return ends > now
  end
  out = out or call('ZCOUNT', PERMITS, '(' .. text(now), '+inf')
  return out == 0
end

local outcomes = {}
for at = ARGS_BEFORE + 1, #ARGV do
  local good_ones, bad_ones, latency, reporter, rest = struct.unpack('>I4I4Bc8', ARGV[at])
  local code, key, fingerprint = OK, nil, nil
  if kept_in == IN_LOG and good_ones + bad_ones > MOST_LOGGED then code = TOO_MANY end
  if are_named then
    key, fingerprint = KEYS[at - ARGS_BEFORE + KEYS_BEFORE], string.sub(ARGV[at], rest, rest + 7)
    rest = rest + 8
    local same = repeated(key, fingerprint, now - window)
    if same ~= nil then code = same and REPEATED or MISMATCH end
  end
  if code == OK then
    if key then remember(key, fingerprint, now, 4 * longest / 1000) end
    local both = good_ones + bad_ones
    if state == HALF_OPEN and is_probe(string.sub(ARGV[at], rest)) then
      probe_successes, probe_failures = probe_successes + good_ones, probe_failures + bad_ones
    end
    reported = now
    hear(reporter, bad_ones > 0)
    all[1], all[2] = all[1] + good_ones, all[2] + bad_ones
    if latency > 0 then
      all[2 + latency] = all[2 + latency] + both
      count(2 + latency, both)
    end
    if keeps == IN_BUCKETS then
      ring_good, ring_bad = ring_good + count(1, good_ones), ring_bad + count(2, bad_ones)
      if windows then windows.count(good_ones, bad_ones) end
    end
    if keeps_log then
      -- Those that have names may be repeats, which take no room.
      if are_named then log.make_room(both) end
      log.add(good_ones, bad_ones)
    end
    if by_log then
      successes, failures = successes + good_ones, failures + bad_ones
    elseif windows then
      successes, failures = windows.sum()
    else
      successes, failures = ring_good, ring_bad
    end
    judge()
  end
  local last = 4 * (at - ARGS_BEFORE)
  outcomes[last - 3], outcomes[last - 2] = code, successes
  outcomes[last - 1], outcomes[last] = failures, state
end

forget_left()
if keeps_log then log.write(renews) end
totals = struct.pack(TOTALS, unpack(all, 1, COUNTS))
save()
if renews then expire(META) end
if is_joined then expire(BUCKETS) end
save_bucket()
return { OK, struct.pack('>' .. string.rep('d', #outcomes), unpack(outcomes)) }
