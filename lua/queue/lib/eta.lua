-- The expected wait, from the promotions really made. Needs rate, rate_slow, drop.
-- rate and rate_slow: places in a million seconds; drop: millionths of the line that leave before their turn.

-- Median and slow wait of a position in ms; -1 when unknown.
local function eta(place, promotes)
  if not promotes then return -1, -1 end
  local rate = m.rate
  if not rate and m.batch > 0 then rate = m.batch * 1000000 / (m.interval / 1000000) end
  if not rate or rate <= 0 then return -1, -1 end
  local ahead = place * (1000000 - (m.drop or 0)) / 1000000
  local median = ceil(ahead * 1000000000 / rate)
  if not m.rate_slow or m.rate_slow <= 0 then return median, -1 end
  return median, ceil(ahead * 1000000000 / m.rate_slow)
end
