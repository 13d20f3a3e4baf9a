-- Whether a claim still holds: judged by the fence and by the end of the lease, reclaimed or not.
-- Needs taken.lua.
-- KEYS: taken, leases. ARGV: none. Reply: none; a part gives `is_late`, `ended_by`, `held`. Needs
-- `grace_from` and `grace_until`.

-- Without a tick for so long, Redis was down, or its clock leapt, and no issuer could renew.
local LATE = 1000000
local function is_late() return wall + m.offset - m.tick > LATE end

-- By which time a lease must have ended to be over. Those that end while no tick comes last for the
-- whole of a lease behind the tick that comes next: an outage costs no issuer its claims.
local function ended_by()
  if now < m.grace_until then return math.min(now, m.grace_from) end
  return is_late() and m.tick or now
end

-- For each of these sequences its entry, when the claim under this fence holds, else false; and
-- when its lease ends.
local function held(sequences, fence)
  local entries, over = call('HMGET', TAKEN, unpack(sequences)), ended_by()
  local ends = call('ZMSCORE', LEASES, unpack(sequences))
  for i, till in ipairs(ends) do
    if not till or tonumber(till) <= over or struct.unpack('>d', entries[i]) ~= fence then
      entries[i] = false
    end
  end
  return entries, ends
end
