-- The limit by two counters: units of the present window, and of the one before, which weigh as
-- much as of it lies less than a window ago. Windows begin at multiples of their length in limit
-- time. Needs lib/store, lib/forward, counters, kept.
-- KEYS: the counter. ARGV: none. Reply: none; a part gives `counter`.

-- The latest time and the offset (µs), units of the present window and of the one before, and the
-- window (s) for which the TTL was set.
local COUNTER = '>ddI4I4I3'

-- In how many ms the units fit which do not yet, with so much of the present window left.
local function until_counter_fits(limit, window, needed, current, previous, left)
  local room = limit - needed - current
  if room >= 0 then
    -- The part of the window before, in ms, that may still weigh in.
    local may_weigh = floor(room * window / previous)
    if may_weigh > 0 then return left - may_weigh end
  end
  if current == 0 then return left end
  return left + window - min(window, floor((limit - needed) * window / current))
end

local function counter(key, limit, window, needed, take)
  local value, latest, offset, current, previous, seconds = value_of(key), 0, 0, 0, 0, 0
  if value then latest, offset, current, previous, seconds = struct.unpack(COUNTER, value) end
  local now, grown = forward(offset, latest)
  local now_ms = floor(now / 1000)
  local passed = floor(now_ms / window) - floor(floor(latest / 1000) / window)
  if passed > 0 then
    current, previous = 0, passed == 1 and current or 0
  end
  local left = window - now_ms % window
  -- The estimate, times the window: previous × left + current × window.
  local fits, retry = previous * left <= (limit - needed - current) * window, 0
  if not fits then
    retry = until_counter_fits(limit, window, needed, current, previous, left)
    take = 0
  end
  if take > 0 or grown ~= offset then
    current = current + take
    local lasting = max(window, 1000 * seconds)
    local kept = struct.pack(COUNTER, now, grown, current, previous, lasting / 1000)
    keep(key, kept, lasting, passed == 0 and 1000 * seconds == lasting)
  end
  local remaining = max(0, limit - current - ceil(previous * left / window))
  local reset = current > 0 and left + window or previous > 0 and left or 0
  return fits, remaining, reset, retry, now
end
