-- The expected wait, from the turns really given. Needs state.lua, presence.lua, and rate,
-- rate_slow, guess and drop, all per 10^6 s: turns, turns in slow times, turns that the rate under
-- earlier rules makes likely, and how often a place in line drops out; lull: where turns come many
-- at once, how long (ms) nobody's comes.
local ln = math.log

-- In ms: from one turn to the next (0: unknown), the same in slow times, and what is left of a
-- roll-call; and how often a place in line drops out in a ms. Looked up when first needed.
local gap, slow_gap, least, fades

local function look_up_rates(promotes)
  local rate, slow = m.rate or 0, m.rate_slow or 0
  local batch = m.whole_batch or m.batch
  if rate == 0 then
    local allowed = batch > 0 and batch * 1000000 / (m.interval / 1000000) or m.guess or 0
    rate = math.min(allowed, m.guess or allowed)
  end
  -- They are of the whole pace. How soon a target that is probed recovers nobody knows.
  local back = quarters() / QUARTERS
  rate, slow = rate * back, slow * back
  gap = promotes and health() ~= PROBING and rate > 0 and 1000000000 / rate or 0
  slow_gap = slow > 0 and 1000000000 / slow or 0
  least, fades = ceil(roll_call_left() / 1000), (m.drop or 0) / 1000000000
end

-- Turns take some of the places that go before, and of the others some drop out all the time:
-- n' = -1/gap - fades × n. So instead of n × gap it takes ln(1 + fades × n × gap) ÷ fades.
local function faded(time)
  local gone = fades * time
  return gone > 0.001 and ln(1 + gone) / fades or time
end

-- Median and slow wait in ms of the place that is promoted as the `turn`-th from now, neither
-- shorter than what is left of a roll-call; -turn and -1 when unknown.
local function eta(turn, promotes)
  if not gap then look_up_rates(promotes) end
  if gap == 0 then return -turn, -1 end
  local median, slow = turn * gap, turn * slow_gap
  if fades > 0 then median, slow = faded(median), faded(slow) end
  median, slow = ceil(median), ceil(slow) + (m.lull or 0)
  if median < least then median = least end
  if slow < median then slow = median end
  return median, slow_gap > 0 and slow or -1
end
