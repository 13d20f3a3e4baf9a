-- limit.check: are so many units allowed now? If all checks of an item allow it they are taken,
-- else none. A shadow limit refuses no call: where it would, nothing is taken from it alone.
-- Uses: lib/store lib/forward lib/repeated counters kept log counter gcra
-- KEYS: ([name,] (counter)*)*
-- ARGV: now, named, (checks)*
--       named: 1 when the items have names, else 0
--       checks: for a named item its fingerprint (8 bytes), then for each of its counters
--       (14 bytes) algorithm, shadow, limit, window (ms), cost; cost 0 asks for one unit and takes
--       none
-- Reply: OK, outcomes: a string of doubles. Of each item a code (OK, REFUSED, REPEATED,
--        MISMATCH); then, unless it is MISMATCH, of each of its checks code (OK, REFUSED,
--        SHADOW_REFUSED) + 8 * units left, ms until all are back, ms until it would be allowed
-- Codes: OK REFUSED SHADOW_REFUSED REPEATED MISMATCH

local CHECK, CHECK_SIZE = '>BBI4I4I4', 14
local algorithms = ALGORITHMS -- functions, by their numbers

read_wall()
local KEYS, named = KEYS, ARGV[2] == '1'
local out, used = {}, 0

-- Decides the check at `from`, and appends the outcome to `out`. Returns its code, limit time, its
-- window (ms) and what it took.
local function decide(checks, from, key, takes)
  local algorithm, shadow, limit, window, cost = struct.unpack(CHECK, checks, from)
  local fits, remaining, reset, retry, now =
    algorithms[algorithm](key, limit, window, max(cost, 1), takes and cost or 0)
  local code = fits and OK or shadow == 1 and SHADOW_REFUSED or REFUSED
  out[used + 1], out[used + 2], out[used + 3] = code + 8 * remaining, reset, retry
  used = used + 3
  return code, now, window, fits and cost or 0
end

-- Decides all checks of an item, from key `first` on. Returns whether one refuses; the longest
-- window (ms) and its limit time; what was taken; a bit for each that only shadows refused.
local function decide_all(checks, from, first, count, takes)
  local refused, clock, longest, taken, shadows = false, 0, 0, 0, 0
  for i = 0, count - 1 do
    local code, now, window, cost = decide(checks, from + CHECK_SIZE * i, KEYS[first + i], takes)
    if code == REFUSED then refused = true end
    if code == SHADOW_REFUSED then shadows = shadows + 2 ^ i end
    if window > longest then clock, longest = now, window end
    taken = taken + cost
  end
  return refused, clock, longest, taken, shadows
end

-- A repeat returns what was decided, and what is left now.
local function answer_again(at, shadows)
  for i = 0, (used - at) / 3 - 1 do
    local place = at + 1 + 3 * i
    local was = floor(shadows / 2 ^ i) % 2 == 1 and SHADOW_REFUSED or OK
    out[place], out[place + 2] = out[place] - out[place] % 8 + was, 0
  end
end

local function decide_named(checks, name, first, count)
  local fingerprint, at = string.sub(checks, 1, 8), used
  local refused, clock, longest = decide_all(checks, 9, first, count, false)
  local same, note = repeated(name, fingerprint, clock - 1000 * longest)
  if same then
    answer_again(at, note ~= '' and struct.unpack('>I2', note) or 0)
    return REPEATED
  elseif same == false then
    used = at
    return MISMATCH
  elseif refused then
    return REFUSED
  end
  used = at
  local _, now, _, taken, shadows = decide_all(checks, 9, first, count, true)
  if taken > 0 then
    local noted = shadows > 0 and struct.pack('>I2', shadows) or ''
    remember(name, fingerprint .. noted, now, 4 * longest)
  end
  return OK
end

local function decide_nameless(checks, first, count)
  if count == 1 then return decide(checks, 1, KEYS[first], true) == REFUSED and REFUSED or OK end
  local at = used
  if decide_all(checks, 1, first, count, false) then return REFUSED end
  used = at
  decide_all(checks, 1, first, count, true)
  return OK
end

local key = 1 -- the next one
for i = 3, #ARGV do
  local checks = ARGV[i]
  local count = floor(#checks / CHECK_SIZE)
  used = used + 1
  local at = used
  if named then
    out[at] = decide_named(checks, KEYS[key], key + 1, count)
    key = key + 1 + count
  else
    out[at] = decide_nameless(checks, key, count)
    key = key + count
  end
end
write_kept()
return { OK, struct.pack('>' .. string.rep('d', used), unpack(out, 1, used)) }
