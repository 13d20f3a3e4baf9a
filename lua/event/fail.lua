-- event.fail: an attempt of an issuer failed: the application is tried again at its time, or dead
-- when there is to be no other attempt.
-- Uses: lib/store lib/entity meta taken attempts held
-- KEYS: meta taken leases retry dead
-- ARGV: now, fence, sequence, retry_us, cause
--       (the time until the next attempt, -1: there is to be none; what went wrong)
-- Reply: OK, code (OK: it is tried again; IS_DEAD, LOST); or NO_RULES
-- Codes: OK IS_DEAD LOST NO_RULES

if not load({ 'grace_from', 'grace_until' }) then return { NO_RULES } end
read_clock()
write_even_if_full()

local fence, sequence, rest = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local packed = held({ sequence }, fence)[1]

-- A repeat returns what the first call did.
local function before()
  local kept = call('HGET', TAKEN, sequence)
  if not kept or read_entry(kept) ~= fence then return LOST end
  if call('ZSCORE', RETRY, sequence) then return OK end
  return call('ZSCORE', DEAD, sequence) and IS_DEAD or LOST
end
if not packed then return { OK, before() } end

call('ZREM', LEASES, sequence)
save({ 'last' })
if rest < 0 then
  local _, attempts, visitor_id = read_entry(packed)
  make_dead(sequence, fence, attempts + 1, visitor_id, ARGV[5])
  return { OK, IS_DEAD }
end
if not count_attempt(sequence, packed, ARGV[5]) then return { OK, IS_DEAD } end
call('ZADD', RETRY, now + rest, sequence)
return { OK, OK }
