-- target.record: outcomes of calls to a target, one by one or counted, in order; each is answered
-- with the window and the state after it.
-- Uses: lib/store lib/forward lib/repeated rules meta reporters buckets log state
-- KEYS: meta buckets successes failures permits (call)*
--       (the calls that have names, one for each outcome, or none)
-- ARGV: now, rules, (outcome)*
--       (rules: lib/rules.lua; an outcome: successes and failures (4 bytes each), latency (1: the
--       number of its upper bound, 0 none), reporter (8: a digest), with a name what the call said
--       (8: a digest), then the permit that it had, if any)
-- Reply: OK, outcomes (four doubles each: a code, successes, failures, state)
-- Codes: OK REPEATED MISMATCH TOO_MANY

local KEYS_BEFORE, ARGS_BEFORE = 5, 2
local MOST_LOGGED = 100 -- in one outcome

local own_window, own_kind = load()
-- Redis refuses for want of memory only what a script writes first, and what leaves the window is
-- taken away before the rest is written.
call('HSET', META, 'totals', totals)
local are_named, renews = #KEYS > KEYS_BEFORE, is_new
if is_new then
  version = wall
elseif own_window ~= window or own_kind ~= kept_in then
  -- Neither buckets of several lengths nor what is kept in several ways can be counted together.
  if own_kind ~= kept_in then forget_log() end
  window, kept_in, renews = own_window, own_kind, true
  forget_buckets()
end
move_on()
-- A call that brought no outcome may have moved the window on, and renewed nothing.
renews = renews or bucket_of(reported) < bucket
if kept_in == IN_LOG and not are_named then
  local coming = 0
  for at = ARGS_BEFORE + 1, #ARGV do
    local good_ones, bad_ones = struct.unpack('>I4I4', ARGV[at])
    if good_ones + bad_ones <= MOST_LOGGED then coming = coming + good_ones + bad_ones end
  end
  make_room(coming)
end
local all = { struct.unpack(TOTALS, totals) }

-- Whether an outcome tells if the target has recovered: that of a call which has its permit still,
-- or of any call while nobody has one.
local out -- permits in use, once they were counted
local function is_probe(permit)
  if state ~= HALF_OPEN then return false end
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

local function record(good_ones, bad_ones, latency, reporter, permit)
  if is_probe(permit) then
    probe_successes, probe_failures = probe_successes + good_ones, probe_failures + bad_ones
  end
  reported = now
  hear(reporter, bad_ones > 0)
  all[1], all[2] = all[1] + good_ones, all[2] + bad_ones
  if latency > 0 then
    all[2 + latency] = all[2 + latency] + good_ones + bad_ones
    count(2 + latency, good_ones + bad_ones)
  end
  if kept_in == IN_LOG then
    -- Those that have names may be repeats, which take no room.
    if are_named then make_room(good_ones + bad_ones) end
    log(good_ones, bad_ones)
  else
    successes, failures = successes + count(1, good_ones), failures + count(2, bad_ones)
  end
  judge()
end

local told = {}
for at = ARGS_BEFORE + 1, #ARGV do
  local good_ones, bad_ones, latency, reporter, rest = struct.unpack('>I4I4Bc8', ARGV[at])
  local code, key, said = OK, nil, nil
  if kept_in == IN_LOG and good_ones + bad_ones > MOST_LOGGED then code = TOO_MANY end
  if are_named then
    key, said = KEYS[at - ARGS_BEFORE + KEYS_BEFORE], string.sub(ARGV[at], rest, rest + 7)
    rest = rest + 8
    local same = repeated(key, said, now - window)
    if same ~= nil then code = same and REPEATED or MISMATCH end
  end
  if code == OK then
    if key then remember(key, said, now, 4 * window / 1000) end
    record(good_ones, bad_ones, latency, reporter, string.sub(ARGV[at], rest))
  end
  local last = 4 * (at - ARGS_BEFORE)
  told[last - 3], told[last - 2], told[last - 1], told[last] = code, successes, failures, state
end

forget_left()
if kept_in == IN_LOG then write_log(renews) end
totals = struct.pack(TOTALS, unpack(all, 1, COUNTS))
save()
if renews then expire(META) end
save_bucket()
return { OK, struct.pack('>' .. string.rep('d', #told), unpack(told)) }
