-- The limit as a leaky bucket (the generic cell rate algorithm): `limit` units at once, then one
-- every window ÷ limit. Needs lib/store, lib/forward, counters, kept.
-- KEYS: the counter. ARGV: none. Reply: none; a part gives `gcra`.

-- The debt, the latest time and the offset (µs), and the window (s) for which the TTL was set. Each
-- unit adds `window` to the debt, and `limit` leak from it each ms, so that all numbers are whole.
local GCRA = '>dddI3'

local function gcra(key, limit, window, needed, take)
  local value, debt, latest, offset, seconds = value_of(key), 0, 0, 0, 0
  if value then debt, latest, offset, seconds = struct.unpack(GCRA, value) end
  local now, grown = forward(offset, latest)
  local full, passed, before = limit * window, floor(now / 1000) - floor(latest / 1000), debt
  -- After a window nothing is left of any debt; the product could be too large for a double.
  debt = passed < window and max(0, min(debt, full) - passed * limit) or 0
  local over = debt - (limit - needed) * window
  local fits = over <= 0
  if not fits then take = 0 end
  if take > 0 or grown ~= offset then
    debt = debt + take * window
    -- With the offset alone the debt stays as it was: under other rules it may be larger.
    local stored, lasting = take > 0 and debt or before, max(window, 1000 * seconds)
    local kept = struct.pack(GCRA, stored, now, grown, lasting / 1000)
    keep(key, kept, lasting, ttl_does(latest, seconds, now, lasting))
  end
  local remaining, reset = limit - ceil(debt / window), ceil(debt / limit)
  return fits, remaining, reset, fits and 0 or ceil(over / limit), now
end
