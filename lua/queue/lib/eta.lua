-- The expected wait, by the outlook that the last tick has written (outlook.lua). Needs state.lua,
-- presence.lua, outlook.lua and outlook.
--
-- The turn that a place has is one number, less the share of those in front that drop out. The time
-- until so many turns were given is the median; of the 90th percentile it is the time of a later
-- turn, by what is known of the spread of turns.
local ln, sqrt = math.log, math.sqrt

-- The outlook, with times from now and `DROP` in a turn; false when nothing is known. Looked up
-- when first needed, and with it: the rest of a check-in period; from batch to batch; whether
-- the rules alone tell, which say nothing of slow times; by how many turns the median is before the
-- mean; and from when on a time is no more than turns by the time between them.
local outlook, least, period, is_vague, ahead, plain_from

local function look_up_outlook(promotes)
  least, outlook = roll_call_left(), false
  if not promotes or health() == PROBING then return end
  local batch, capacity = m.rule_batch or m.batch, m.rule_capacity or m.capacity
  local o = m.outlook and #m.outlook == OUTLOOK_BYTES and { struct.unpack(OUTLOOK, m.outlook) }
  if not o or o[OF_BATCH] ~= batch or o[OF_INTERVAL] ~= m.interval then
    -- No tick has come by these rules yet: a batch says how fast the line moves at most.
    if batch == 0 then return end
    local gap, wave = m.interval / batch, 0
    if m.pace ~= EVEN then gap, wave = 0, batch end
    o = { 0, gap, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, wave, 0, wave, 0 }
    is_vague = capacity > 0
  elseif o[OF_CAPACITY] ~= capacity then
    if capacity == 0 then return end
    o[GAP], o[OPENS] = o[GAP] * o[OF_CAPACITY] / capacity, 0
  end
  if o[WRITTEN] ~= m.tick then
    -- The line was empty at the last tick.
    o[OPENS], o[SPARE], o[WAVE_AT], o[FIRST_WAVE] = 0, 0, now + m.interval, o[WAVE]
  end
  period = m.interval + o[SPACING] / 2
  o[WAVE_AT] = math.max(0, o[WAVE_AT] - now)
  o[OPENS] = math.max(0, o[OPENS] - now)
  if o[OPENS] == 0 then o[OPENS_GAP] = 0 end
  -- It is of the whole pace. How soon a target that is probed recovers is unknown.
  local back = QUARTERS / quarters()
  if back > 1 then
    o[GAP], o[RULE_GAP], o[WAVE], o[OPENS] = o[GAP] * back, o[RULE_GAP] * back, o[WAVE] / back, 0
  end
  o[DROP] = o[DROP] * (o[WAVE] > 0 and period / o[WAVE] or o[GAP])
  ahead = 0.3 * math.min(1, o[NEAR])
  plain_from = math.huge
  if o[WAVE] + o[OPENS_GAP] == 0 and o[SPARE] == 0 then
    o[GAP], plain_from = math.max(o[GAP], o[RULE_GAP]), o[OPENS]
  end
  outlook = o
end

-- The time until so many turns were given.
local function time_of(turns)
  local o = outlook
  local behind, opens = turns - o[SPARE], o[OPENS]
  local time = behind > 0 and behind * o[GAP] or 0
  if opens > 0 and behind > 0 then
    local early_gap = o[EARLY_GAP]
    if early_gap == 0 then
      opens = opens + (behind < m.capacity and behind or m.capacity) * o[OPENS_GAP]
    elseif behind * early_gap < opens then
      opens = behind * early_gap
    end
    if time < opens then time = opens end
  end
  local wave = o[WAVE]
  if wave > 0 then
    local waves = turns <= o[FIRST_WAVE] and 0 or ceil((turns - o[FIRST_WAVE]) / wave)
    if time > (waves + 1) * period then waves = ceil(time / period) - 1 end
    return o[WAVE_AT] + waves * period
  end
  local least_gap = turns * o[RULE_GAP]
  return time > least_gap and time or least_gap
end

-- Median and 90th percentile of the wait, in ms, of the place that is promoted as the `turn`-th
-- from now, neither shorter than the rest of a check-in period; -turn and -1 when unknown.
local function eta(turn, promotes)
  if outlook == nil then look_up_outlook(promotes) end
  local o = outlook
  if not o then return -turn, -1 end
  -- Turns take some of the places in front, and of the others some drop out all the time:
  -- n' = -1 - drop × n. So it is ln(1 + drop × n) ÷ drop turns.
  local drop, turns, variance = o[DROP], turn, 0
  local gone = drop * turn
  if gone > 0.001 then
    turns = ln(1 + gone) / drop
    local lost = turn - turns
    variance = turn * gone / (2 * (1 + gone) * (1 + gone)) + lost * lost * o[UNSURE]
  end
  local few, many = turns * o[NEAR], o[JITTER] + turns * o[SPREAD]
  variance = variance + turns * turns * o[DRIFT] + (few < many and few or many)
  local late = turns + 1.33 * sqrt(variance)
  local median, slow = (turns - ahead) * o[GAP], late * o[GAP]
  if median < plain_from then median, slow = time_of(turns - ahead), time_of(late) end
  if o[WAVE] > 0 then
    -- Each batch comes up to a tick later than its interval.
    slow = slow + o[SPACING] * (0.5 + 0.5 * sqrt((slow - o[WAVE_AT]) / period + 1))
  else
    slow = slow + o[SPACING] * 0.7
  end
  local lull = o[LULL]
  if lull > 2 * o[GAP] and o[OPENS_GAP] == 0 then
    -- Many turns come together, and the next ones at any moment until a lull is over.
    local burst = lull + o[GAP]
    median = (ceil(median / burst) - 0.5) * burst
    slow = (ceil(slow / burst) - 0.1) * burst
  elseif lull > 0 then
    local half = lull / 2
    if median < half then median = half end
    slow = (slow < half and half or slow) + 0.4 * lull
  end
  -- Whole milliseconds.
  median = median + o[SPACING] / 2
  if median < least then median = least end
  if slow < median then slow = median end
  median, slow = median + 999, slow + 999
  median = (median - median % 1000) / 1000
  return median, is_vague and -1 or (slow - slow % 1000) / 1000
end
