-- How fast the line moves: what the ticks count, and the outlook that they work out of it for those
-- in line. Needs slices.lua, turns and counts_since. The outlook is
-- `Left` in services/core/src/queue/outlook.rs.
--
-- Time counts between two ticks where the first left places in line, and in a queue with a capacity
-- the room was full when counting began: turns that fill an empty room say nothing of how fast room
-- is made. The tick that empties the line counts every turn that there was, taken or not.
--
-- Turns and time decay over RATED_TIME, but never to fewer than RATED_TURNS. How far the turns of a
-- bin are from those that were expected gives their variance: of single bins, and of FAR_BINS
-- together, because what is irregular from bin to bin may be regular in the long run.

-- Decayed: turns, time (µs), turns by squared weights, squared times between turns, turns before
-- any stored end, squared errors of bins and the turns behind them, of long bins too, and how
-- many of these. The open long bin: error, turns, bins. Decayed: drop-outs, and the places × µs
-- behind them. The open bin: time, turns, squared times, early turns, drop-outs, places × µs. The
-- time since the last turn; the earliest end at the last tick; whether the room has been full;
-- the rules that were in force, and until when they have just begun to be; the time between
-- ticks.
local TURNS_FIELDS = {
  'turns', 'time', 'squares', 'gaps', 'early', 'errors', 'error_turns', 'far_errors',
  'far_turns', 'far_bins', 'open_error', 'open_turns', 'open_bins', 'drops', 'places', 'bin_time',
  'bin_turns', 'bin_gaps', 'bin_early', 'bin_drops', 'bin_places', 'gap', 'first_end', 'full',
  'capacity', 'batch', 'interval', 'overrides', 'settles', 'spacing',
}
local TURNS = '>' .. string.rep('d', #TURNS_FIELDS)
local FIRST_BIN, BIN, FAR_BINS = 1000000, 10000000, 8
local RATED_TIME, RATED_TURNS = 300000000, 20
-- Places that leave at once count as no more than twice the usual share of a µs, and this.
local USUAL_DROP, USUAL_DROPS = 1 / 1800000000, 3
-- Where turns came this much slower than the batch allows, it was capacity that made them rare.
local NEAR_BATCH = 0.75

local t -- the fields of `turns`, by their names

local function read_turns()
  t = {}
  if m.turns and #m.turns == 8 * #TURNS_FIELDS then
    local values = { struct.unpack(TURNS, m.turns) }
    for i, field in ipairs(TURNS_FIELDS) do t[field] = values[i] end
    return
  end
  for _, field in ipairs(TURNS_FIELDS) do t[field] = 0 end
end

local function write_turns()
  local values = {}
  for i, field in ipairs(TURNS_FIELDS) do values[i] = t[field] end
  m.turns = struct.pack(TURNS, unpack(values))
end

local DECAYED = { 'turns', 'time', 'gaps', 'early', 'errors', 'error_turns' }

local function forget_turns()
  for _, field in ipairs(TURNS_FIELDS) do
    if field ~= 'drops' and field ~= 'places' and field ~= 'spacing' then t[field] = 0 end
  end
  call('HDEL', META, 'turn_rate')
end

-- The rules in force, whatever the health is.
local function rules_now()
  return {
    capacity = m.rule_capacity or m.capacity, batch = m.rule_batch or m.batch,
    interval = m.interval, overrides = m.overrides_batch,
  }
end

local function keep_rules(rules)
  for rule, value in pairs(rules) do t[rule] = value end
end

-- How fast the line moved by other rules says nothing of how fast it will, except where capacity
-- made turns rare: then it does so by these rules too, in proportion.
local function follow_rules()
  local before, rules = t.capacity, rules_now()
  if
    before == rules.capacity
    and t.batch == rules.batch
    and t.interval == rules.interval
    and t.overrides == rules.overrides
  then
    return
  end
  local allowed = t.batch > 0 and t.batch / t.interval or math.huge
  if
    t.full == 1 and t.turns > 0 and before > 0 and rules.capacity > 0
    and t.turns / t.time < NEAR_BATCH * allowed
  then
    t.time = t.time * before / rules.capacity
  else
    forget_turns()
  end
  t.bin_time, t.bin_turns, t.bin_gaps, t.bin_early, t.bin_drops, t.bin_places = 0, 0, 0, 0, 0, 0
  m.counts_since = 0
  keep_rules(rules)
  -- For an interval the turns given by the old batch may leave none for the new one.
  t.settles = rules.batch > 0 and now + math.min(rules.interval, 60000000) or 0
end

-- The variance of a number of turns: `near` times the number for a few, and `jitter + spread`
-- times the number for many, by the variance of bins and of long bins. Each has a few turns'
-- worth of what is likely before any was counted.
local PRIOR_TURNS, PRIOR_FAR = 5, 3
local function variance()
  local likely = m.capacity > 0 and 1 or 0.002
  local near = (t.errors + likely * PRIOR_TURNS) / (t.error_turns + PRIOR_TURNS)
  if t.far_bins == 0 then return near, 0, near end
  local far_turns = t.far_turns / t.far_bins
  local prior = PRIOR_FAR * far_turns
  local far = (t.far_errors + near * prior) / (t.far_turns + prior)
  local turns = far_turns / FAR_BINS
  local spread = (far * far_turns - near * turns) / (far_turns - turns)
  spread = math.max(0.02 * near, spread)
  return near, math.max(0, (near - spread) * turns), spread
end

-- How many turns come at once, by how long it takes to the next one at any moment: half of the
-- mean square of the times between turns by their mean.
local function at_once()
  if t.turns == 0 then return 1 end
  return math.max(1, t.gaps / t.time * t.turns / t.time - 1)
end

-- The part of the turns counted that still says something: when in the open bin far fewer came
-- than was ever likely, they were of another time.
local UNLIKELY = 4
local function still_true()
  if t.turns == 0 or t.bin_turns > 0 then return 1 end
  local missing = t.turns / t.time * t.bin_time
  local likely = UNLIKELY * math.max(at_once(), (variance()))
  if missing <= likely then return 1 end
  return math.max(likely / missing, math.min(1, 1 / t.turns))
end

-- The square of an error that is no more than 5 times what is likely of so many turns, beside
-- what is not known of the rate.
local function error_of(error, turns)
  return math.min(error * error / (1 + turns / math.max(1, t.turns)), 25 * math.max(1, turns))
end

-- Adds the open bin to what was counted before.
local function end_bin()
  local kept = still_true()
  for _, field in ipairs(DECAYED) do t[field] = t[field] * kept end
  t.squares = t.squares * kept
  local turns, time = t.bin_turns, t.bin_time
  if t.turns > 0 then
    local expected = t.turns / t.time * time
    local error, of = turns - expected, (turns + expected) / 2
    t.open_error, t.open_turns = t.open_error + error, t.open_turns + of
    t.open_bins = t.open_bins + 1
    if t.open_bins == FAR_BINS then
      t.far_errors = t.far_errors + error_of(t.open_error, t.open_turns)
      t.far_turns, t.far_bins = t.far_turns + t.open_turns, t.far_bins + 1
      t.open_error, t.open_turns, t.open_bins = 0, 0, 0
    end
    t.errors = t.errors + error_of(error, math.max(turns, expected))
    t.error_turns = t.error_turns + of
  end
  t.turns, t.time, t.squares = t.turns + turns, t.time + time, t.squares + turns
  t.gaps, t.early = t.gaps + t.bin_gaps, t.early + t.bin_early
  if t.time > RATED_TIME and t.turns > RATED_TURNS then
    local decay = math.max(math.exp(-time / RATED_TIME), RATED_TURNS / t.turns)
    for _, field in ipairs(DECAYED) do t[field] = t[field] * decay end
    t.squares = t.squares * decay * decay
    local slow_decay = decay ^ 0.3
    for _, field in ipairs({ 'far_errors', 'far_turns', 'far_bins' }) do
      t[field] = t[field] * slow_decay
    end
  end
  -- A crowd that leaves at once says nothing of those who stay.
  local usual = t.places > 0 and 2 * t.drops / t.places or 0
  local most = (usual + USUAL_DROP) * t.bin_places + USUAL_DROPS
  local decay = math.exp(-time / RATED_TIME)
  t.drops, t.places = t.drops * decay + math.min(t.bin_drops, most), t.places * decay + t.bin_places
  t.bin_time, t.bin_turns, t.bin_gaps, t.bin_early, t.bin_drops, t.bin_places = 0, 0, 0, 0, 0, 0
  m.turn_rate = math.floor(t.turns * 1000000000000 / t.time)
  save({ 'turn_rate' })
end

-- Promotion was not allowed, or the line was empty.
local function count_nothing()
  if (m.counts_since or 0) == 0 and (m.dropped or 0) == 0 then return end
  m.counts_since, m.dropped = 0, 0
  save({ 'counts_since', 'dropped' })
end

-- The first and the last end of a slot, if every place that is ready is claimed at once; nothing
-- when none is taken.
local function slot_ends()
  local first, last
  local function take(set, longer)
    local from = '(' .. string.format('%.0f', now)
    local one = call('ZRANGEBYSCORE', set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not one then return end
    local ends = call('ZRANGE', set, -1, -1, 'WITHSCORES')[2] + longer
    one = one + longer
    first = first and math.min(first, one) or one
    last = last and math.max(last, ends) or ends
  end
  take(READY, math.min(m.session_ttl, m.session_max) - m.claim_ttl)
  take(ACTIVE, 0)
  return first, last
end

-- With the pace `batch`: when the next batch comes, and how many come with it.
local function next_batch()
  local whole, due = m.batch, now
  if (m.slice_at or 0) > 0 then due = math.max(now, m.slice_at + m.interval) end
  if m.left and m.left > 0 and now <= m.left_until then due = now end
  local used = promoted_since(due - m.interval)
  for i = 1, #log, 3 do
    if used < whole then break end
    if log[i + 1] > due - m.interval then
      due = log[i + 1] + m.interval
      used = promoted_since(due - m.interval)
    end
  end
  return due, math.max(1, whole - promoted_since(due + 1000000 - m.interval))
end

-- Works out the outlook. `room`: free slots before this tick.
local function look_out(turns, room, counts)
  local near, jitter, spread = variance()
  local kept = still_true()
  local known, time = t.turns * kept, t.time * kept
  -- The open bin counts where no turns came for longer than usual.
  local open = time > 0 and t.bin_time - (at_once() + t.bin_turns) * time / known or 0
  if open > 0 then known, time = known + t.bin_turns, time + t.bin_time end
  -- What is likely before turns were counted: sessions that last for the whole of session_ttl, or
  -- the batch.
  local rule_gap = m.batch > 0 and m.interval / m.batch or 0
  local prior, prior_time, firm = 20, 20 * rule_gap, 20
  if m.capacity > 0 then
    prior = math.max(0, 1 - known / 10)
    local stay = math.min(m.session_ttl, m.session_max)
    prior_time, firm = prior * math.max(stay / m.capacity, rule_gap), prior
  end
  local gap = (time + prior_time) / (known + prior)
  if t.squares > 0 then firm = firm + known * t.turns / t.squares else firm = firm + known end
  local o = {
    now, gap, near, jitter, spread, (near + spread) / 2 / firm,
    t.places > 0 and t.drops / t.places or 0, 0.25 / (1 + t.drops),
    0, 0, 0, 0, 0, t.spacing, 0, 0, 0, 0, t.capacity, t.batch, t.interval,
  }
  if m.capacity > 0 then
    o[SPARE], o[RULE_GAP] = counts and math.min(0, room) or room - turns, rule_gap
    local first, last = slot_ends()
    t.first_end = first or 0
    -- Where nearly all slots are freed before their end, the ends say nothing.
    if first and o[SPARE] < 1 and t.early <= 0.9 * t.turns then
      o[OPENS] = first
      if t.early > 0.1 * t.turns then
        o[EARLY_GAP] = gap * t.turns / t.early
      else
        o[OPENS_GAP] = (last - first) / m.capacity
      end
    end
  end
  if m.batch > 0 and m.pace ~= PACE_EVEN then
    o[WAVE] = m.batch
    o[WAVE_AT], o[FIRST_WAVE] = next_batch()
    if m.capacity == 0 then o[GAP], o[NEAR], o[JITTER], o[SPREAD], o[DRIFT] = 0, 0, 0, 0, 0 end
  elseif m.capacity > 0 then
    o[BURST_GAP] = (at_once() - 1) * gap
  end
  m.outlook = struct.pack(OUTLOOK, unpack(o))
end

-- After each tick that could promote: the turns that there were, the free slots before it, the
-- places in line before and after, whether another call promotes more at once, and the time since
-- the tick before.
local function count_turns(turns, room, before, after, more, spacing)
  if not m.turns then
    -- What older versions counted. All of it goes: 0.1.0 fails if it finds a part.
    call(
      'HDEL', META, 'rates', 'rate', 'rate_slow', 'guess', 'drop', 'lull', 'longest', 'bin_from',
      'bin_time', 'bin_turns', 'bin_calls', 'bin_drops', 'bin_places'
    )
  end
  read_turns()
  follow_rules()
  -- Another call of the same tick comes at once.
  if spacing > 20000 then t.spacing = math.min(spacing, STEP) end
  local counts = (m.counts_since or 0) > 0
  if counts then
    local time = now - m.counts_since
    t.bin_time, t.bin_turns = t.bin_time + time, t.bin_turns + turns
    t.bin_drops, t.bin_places = t.bin_drops + (m.dropped or 0), t.bin_places + before * time
    t.gap = t.gap + time
    if turns > 0 then
      t.bin_gaps, t.gap = t.bin_gaps + t.gap * t.gap, 0
      if t.first_end > now then t.bin_early = t.bin_early + turns end
    end
    local length = t.time < BIN and FIRST_BIN or BIN
    if t.bin_turns > 0 and t.bin_time >= length and not more then end_bin() end
  end
  local is_full = m.capacity > 0 and room - turns < 1
  if is_full and t.full == 0 and after > 0 then
    -- What was counted while the room filled is the rate rule's.
    forget_turns()
    t.full = 1
    keep_rules(rules_now())
  end
  local starts = now >= t.settles and (m.capacity == 0 or is_full)
  counts = after > 0 and room >= 0 and (counts or starts)
  if after > 0 then look_out(turns, room, counts) end
  m.counts_since, m.dropped = counts and now or 0, 0
  write_turns()
  if after == 0 then m.outlook = nil end
  save({ 'counts_since', 'dropped', 'turns' })
  if m.outlook then save({ 'outlook' }) end
end
