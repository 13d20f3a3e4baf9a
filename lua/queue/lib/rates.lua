-- How fast the line moves: turns while somebody waited, over the last five minutes of such time or
-- the last 20 turns, whichever is longer. Needs rate, longest, dropped, bin_from and BIN_FIELDS.
--
-- Time counts between two calls where the first left places in line for want of turns. What is
-- given after any other fills what stood empty, and says nothing of how fast room is made. The call
-- that empties the line counts every turn that there was, taken or not.
--
-- A bin ends with a turn, so it holds whole gaps between turns, however few there are, and twenty
-- bins hold twenty turns. The first is a second long, each of the next twice as long, up to ten
-- seconds, so that 34 reach over five minutes. They are a flat list, oldest first, of time (µs),
-- turns, calls that gave some, places dropped out, and places × ms in line; it is packed in the
-- meta hash.
local BIN_FIELDS = { 'bin_time', 'bin_turns', 'bin_calls', 'bin_drops', 'bin_places' }
local FIRST_BIN, BIN, RATED_TIME, RATED_TURNS = 1000000, 10000000, 300000000, 20

-- Works out, all per 10^6 s, the turns, those in the slow tenth of the bins, and how often a place
-- in line drops out; and where turns come many at once, how long nobody's comes. Returns the bins
-- that this rests on; of the first only the part that is needed counts.
local function rate(bins)
  local time, turns, calls, drops, places, longest = 0, 0, 0, 0, 0, 0
  local first, rates, often = #bins + 1, {}, {}
  while first > 1 and (time < RATED_TIME or turns < RATED_TURNS) do
    first = first - #BIN_FIELDS
    local bin_time, bin_turns, bin_calls, bin_drops, bin_places = unpack(bins, first, first + 4)
    local part = (RATED_TURNS - turns) / math.max(1, bin_turns)
    part = math.min(1, math.max((RATED_TIME - time) / bin_time, part))
    time, turns, calls = time + part * bin_time, turns + part * bin_turns, calls + part * bin_calls
    drops, places = drops + part * bin_drops, places + part * bin_places
    longest = math.max(longest, bin_time)
    rates[#rates + 1] = math.max(1, bin_turns) * 1000000000000 / bin_time
    often[#often + 1] = bin_places > 0 and bin_drops * 1000000000 / bin_places or 0
  end
  table.sort(rates)
  m.rate, m.longest = math.floor(turns * 1000000000000 / time), longest
  m.rate_slow = math.floor(math.min(m.rate, rates[math.ceil(#rates / 10)]))
  -- A crowd that drops out at once says nothing of those who stay: the mean counts up to twice the
  -- median bin.
  table.sort(often)
  local usual = 2 * often[math.ceil(#often / 2)]
  m.drop = places > 0 and math.floor(math.min(drops * 1000000000 / places, usual)) or 0
  m.lull = math.floor((time / math.max(1, calls) - time / turns) / 1000)
  save({ 'rate', 'rate_slow', 'drop', 'lull', 'longest' })
  local kept = {}
  for i = first, #bins do kept[#kept + 1] = bins[i] end
  return kept
end

-- Promotion was not allowed, or nobody was in line.
local function count_nothing()
  if (m.bin_from or 0) == 0 and (m.dropped or 0) == 0 then return end
  m.bin_from, m.dropped = 0, 0
  save({ 'bin_from', 'dropped' })
end

-- After each call that could promote: the turns that there were, the places in line before and
-- after, and whether another call promotes more of them at once.
local function count_turns(turns, before, after, more)
  local counts = (m.bin_from or 0) > 0
  if counts then
    local time = now - m.bin_from
    m.bin_time, m.bin_turns = (m.bin_time or 0) + time, (m.bin_turns or 0) + turns
    m.bin_calls = (m.bin_calls or 0) + (turns > 0 and not more and 1 or 0)
    m.bin_drops = (m.bin_drops or 0) + (m.dropped or 0)
    m.bin_places = (m.bin_places or 0) + math.floor(before * time / 1000)
    local length = math.min(BIN, m.longest and 2 * m.longest or FIRST_BIN)
    local ends = m.bin_turns > 0 and not more and m.bin_time >= length
    -- So long without a turn was no bin before: turns have become rare, and the open bin counts,
    -- too.
    local rare = m.rate and m.bin_turns == 0 and m.bin_time > m.longest
    if ends or rare then
      local packed = call('HGET', META, 'rates')
      local bins = packed and cmsgpack.unpack(packed) or {}
      for _, field in ipairs(BIN_FIELDS) do
        bins[#bins + 1] = m[field]
        if ends then m[field] = 0 end
      end
      bins = rate(bins)
      if ends then call('HSET', META, 'rates', cmsgpack.pack(bins)) end
    end
  end
  m.bin_from, m.dropped = after > 0 and (counts or not more) and now or 0, 0
  save({ 'bin_from', 'dropped', unpack(BIN_FIELDS) })
end
