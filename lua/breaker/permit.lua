-- target.permit: may these call the target? While it is half open only `probes` at a time, of all
-- callers; a repeated request under the same name gets the same permit.
-- Uses: lib/store lib/forward rules meta reporters buckets others log state looks
-- KEYS: meta buckets successes failures permits
-- ARGV: now, rules, (permit)*
--       (rules: lib/rules.lua; the names of the permits, 16 bytes each)
-- Reply: OK, permits (three doubles each: state, 1 if the call is allowed, else 0 and after how
--        many µs to ask again)
-- Codes: OK

if not is_new then move_on() end

local taken, first -- permits in use, and the end of the first of them
local function look()
  local size = call('ZCARD', PERMITS)
  taken = call('ZCOUNT', PERMITS, '(' .. text(now), '+inf')
  local dead = min(size - taken, MOST_EVICTED)
  if dead > 0 then call('ZREMRANGEBYRANK', PERMITS, 0, dead - 1) end
  local from = '(' .. text(now)
  local next = call('ZRANGEBYSCORE', PERMITS, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  first = tonumber(next[2]) or math.huge
end

-- The longest window in use without outcomes closes the target: no caller has to wait longer.
local lasts, closes = min(open_for, window), reported + longest
local function permit(name)
  if state == CLOSED then return 1, 0 end
  if state == OPEN then return 0, min(changed + open_for, closes) - now end
  if not taken then look() end
  local ends = tonumber(call('ZSCORE', PERMITS, name) or 0)
  if ends > now then return 1, 0 end
  if taken >= probes then return 0, min(first, closes) - now end
  call('ZADD', PERMITS, text(now + lasts), name)
  taken, first = taken + 1, min(first, now + lasts)
  -- Where the clock leaps back, a permit must not last longer for it.
  is_changed = true
  return 1, 0
end

local permits = {}
for at = 3, #ARGV do
  local may, again = permit(ARGV[at])
  permits[at - 2] = struct.pack('>ddd', state, may, again)
end
if taken then expire(PERMITS) end
save_changes()
return { OK, table.concat(permits) }
