-- Totals since the queue was created, for the history that each admission keeps. A reset keeps
-- them. `totals_of`: the epoch with which they began at 0 (write_rules.lua).
-- `at_once`: places promoted by their join. `missed`: missed turns (end_place.lua). `waits`: a
-- histogram of the waits of places that ticks promoted. Needs waits.

-- Adds to the histogram. `waits` has pairs: how many places, and their wait in ms. `unknown` is how
-- many places have an unknown wait. The first bound is 1 s, and each next one is √2 times the one
-- before. The last 2 counts are longer waits, and unknown waits.
local function count_waits(waits, unknown)
  local counts = {}
  if m.waits and #m.waits == 8 * WAIT_COUNTS then
    counts = { struct.unpack(WAITS, m.waits) }
  else
    for i = 1, WAIT_COUNTS do counts[i] = 0 end
  end
  for i = 1, #waits, 2 do
    local bound = 0
    if waits[i + 1] > 1000 then
      bound = ceil(2 * math.log(waits[i + 1] / 1000) / math.log(2) - 0.000000001)
    end
    local k = math.min(bound + 1, WAIT_COUNTS - 1)
    counts[k] = counts[k] + waits[i]
  end
  counts[WAIT_COUNTS] = counts[WAIT_COUNTS] + unknown
  m.waits = struct.pack(WAITS, unpack(counts, 1, WAIT_COUNTS))
  save({ 'waits' })
end
