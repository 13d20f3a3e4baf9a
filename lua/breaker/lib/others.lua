-- Loads the target, and the windows in use beside that of its buckets, because callers have
-- different rules. Where all agree there is nothing of this, and it costs nothing. Needs meta.lua
-- and buckets.lua.
-- KEYS: meta, buckets, successes, failures. ARGV: none. Reply: none; a part keeps `others`.
--
-- Each of the other windows has 21 pairs of counts of its own. There are at most 2 at a time, so
-- that a target takes at most 4 KiB. A window is in use until no call has had it for as long as it
-- is; where all are in use a further one is derived in each call. With outcomes in buckets a log
-- may be kept beside them: it has all since `log_from`.
local MOST_OTHERS, MOST_BESIDE = 2, 100 -- windows; outcomes that one call logs beside buckets
local NO_LOG = -1

local others -- used, buckets_used, log_used, log_from, and from 1 on the windows
local windows -- what can be done with them
local keeps_log, by_log -- the log gets outcomes; the call is judged by it
local begins_log = false -- what the log held before counts no more
local is_joined = false -- something here has changed that a call should write that only looks

load()
longest, keeps_log, by_log = ring_window, keeps == IN_LOG, keeps == IN_LOG

if packed_others or window ~= ring_window or kept_in ~= keeps then
  -- When it was written; version, window of the buckets, where outcomes are kept, and totals, so
  -- that what the version before this part did is noticed; then when the window of the buckets,
  -- buckets and the log were in use last, and log_from.
  local OTHERS, OTHERS_SIZE = '>dddddddddd', 80
  -- Of each window its length (ms), when it was in use last, and its counts.
  local OTHER, COUNTED, OTHER_SIZE = '>I4d', '>' .. string.rep('I4', 2 * RING), 12 + 8 * RING

  local view -- the window of this call; nil where it is that of the buckets
  local view_good, view_bad -- its sums, once they were needed
  local more_good, more_bad = 0, 0 -- what enters the others when they are written

  local function slot_of(other, time)
    return floor(time / (other.window / (RING - 1)))
  end

  local function add_to(other, slot, good, bad)
    local at = 2 * (slot % RING) + 1
    other[at] = min(other[at] + good, MOST_IN_BUCKET)
    other[at + 1] = min(other[at + 1] + bad, MOST_IN_BUCKET)
  end

  local function empty(other)
    for at = 1, 2 * RING do other[at] = 0 end
    return other
  end

  local function sum(other)
    local good, bad = 0, 0
    for at = 1, 2 * RING, 2 do good, bad = good + other[at], bad + other[at + 1] end
    return good, bad
  end

  local function find_longest()
    longest = max(window, ring_window)
    for _, other in ipairs(others or {}) do longest = max(longest, other.window) end
  end

  local function read()
    local at, for_version, for_window, for_kind, good, bad, used, buckets_used, log_used, log_from =
      struct.unpack(OTHERS, packed_others)
    -- The version before has emptied the window.
    if for_version ~= version or for_window ~= ring_window or for_kind ~= keeps then return end
    others = { used = used, buckets_used = buckets_used, log_used = log_used, log_from = log_from }
    local all_good, all_bad = struct.unpack('>dd', totals)
    for from = OTHERS_SIZE + 1, #packed_others, OTHER_SIZE do
      local length, last, first = struct.unpack(OTHER, packed_others, from)
      local other = { struct.unpack(COUNTED, packed_others, first) }
      other.window, other.used, other.is_kept = length * 1000, last, true
      local present = slot_of(other, now)
      for slot = max(slot_of(other, at) + 1, present - RING + 1), present do
        local gone = 2 * (slot % RING) + 1
        other[gone], other[gone + 1] = 0, 0
      end
      -- It has counted outcomes, too, but only in the buckets.
      add_to(other, present, all_good - good, all_bad - bad)
      others[#others + 1] = other
    end
    local has_missed = all_good ~= good or all_bad ~= bad
    if has_missed and log_from ~= NO_LOG and keeps == IN_BUCKETS then others.log_from = now end
  end

  -- The end of a bucket: what was in it leaves another window not before its time.
  local function end_of(number, length)
    return min(now, (number + 1) * (length / (RING - 1)) - 1)
  end

  -- What is known of a window that no call had: from the shortest that covers it, else from the
  -- longest.
  local function derived()
    local new = empty({ window = window, used = now })
    if keeps == IN_LOG then return new end
    local from, from_window = nil, ring_window
    for _, other in ipairs(others) do
      local covers, is_longer = from_window >= window, other.window > from_window
      if covers and other.window >= window and not is_longer or not covers and is_longer then
        from, from_window = other, other.window
      end
    end
    local oldest = slot_of(new, now) - RING + 1
    local function place(number, good, bad)
      local slot = slot_of(new, end_of(number, from_window))
      if slot >= oldest then add_to(new, slot, good, bad) end
    end
    if from then
      local present = slot_of(from, now)
      for number = present - RING + 1, present do
        local at = 2 * (number % RING) + 1
        place(number, from[at], from[at + 1])
      end
    else
      for number, of in pairs(read_ring()) do place(number, of[1], of[2]) end
    end
    return new
  end

  -- Counts what the log holds of a window.
  local function from_log(other)
    empty(other)
    local present, length = slot_of(other, now), other.window / (RING - 1)
    local from = text((present - RING + 1) * length)
    for slot = present - RING + 1, present do
      local to = text((slot + 1) * length)
      add_to(other, slot, call('ZCOUNT', SUCCESSES, from, '(' .. to),
        call('ZCOUNT', FAILURES, from, '(' .. to))
      from = to
    end
    return other
  end

  -- Writes the buckets: these, by number, with the outcomes of a window.
  local function write_ring(ring, other)
    local fields, last = {}, bucket_of(now)
    for number = last - RING + 1, last do
      local of, at = ring[number], 2 * (number % RING) + 1
      if of or other[at] + other[at + 1] > 0 then
        of = of or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
        of[1], of[2] = other[at], other[at + 1]
        fields[#fields + 1] = text(number % RING)
        fields[#fields + 1] = struct.pack(BUCKET, unpack(of, 1, COUNTS))
      end
    end
    call('UNLINK', BUCKETS)
    if #fields > 0 then call('HSET', BUCKETS, unpack(fields)) end
    bucket, left, all_left = last, {}, #fields == 0
    ring_good, ring_bad = sum(other)
    is_joined = true
  end

  -- From now on the outcomes are in buckets, too.
  local function keep_buckets()
    write_ring(read_ring(), from_log({ window = ring_window }))
    for _, other in ipairs(others) do from_log(other) end
    if view then from_log(view) end
    keeps, others.log_from = IN_BUCKETS, 0
  end

  -- The window of this call takes the place of the buckets', which no call has any more.
  local function take_ring()
    local ring = {}
    for number, of in pairs(read_ring()) do
      local to = slot_of(view, end_of(number, ring_window))
      local there = ring[to]
      for i = 3, there and COUNTS or 0 do there[i] = min(there[i] + of[i], MOST_IN_BUCKET) end
      ring[to] = there or of
    end
    for i = #others, 1, -1 do
      if others[i] == view then table.remove(others, i) end
    end
    ring_window, others.used = view.window, view.used
    write_ring(ring, view)
    view = nil
  end

  local function decide()
    local log_from = others and others.log_from or NO_LOG
    local is_whole = log_from ~= NO_LOG and log_from + window <= now
    keeps_log = keeps == IN_LOG or log_from ~= NO_LOG
    by_log = keeps == IN_LOG or kept_in == IN_LOG and is_whole
  end

  -- Notes that something is in use; to a bucket, because looks would write it, too.
  local function mark(of, field)
    if now - of[field] < window / (RING - 1) then return end
    of[field], is_joined = now, true
  end

  -- Takes the rules of this call into account.
  local function join()
    rotate()
    if not others then
      local log_from = keeps == IN_LOG and 0 or NO_LOG
      others = { used = now, buckets_used = now, log_used = now, log_from = log_from }
      is_joined = true
    end
    for i = #others, 1, -1 do
      local other = others[i]
      if other.window == window then
        view = other
      elseif other.used + other.window <= now then
        table.remove(others, i)
      end
    end
    if not view and window ~= ring_window then
      view = derived()
      if #others < MOST_OTHERS then
        view.is_kept, is_joined = true, true
        others[#others + 1] = view
      end
    end
    mark(view or others, 'used')
    if kept_in == IN_LOG then
      mark(others, 'log_used')
      if others.log_from == NO_LOG then
        others.log_from, begins_log, is_joined = now, true, true
      end
    end
    find_longest()
    decide()
  end

  windows = {}

  -- For a call that brings so many outcomes: what they need is kept from now on, and what is not in
  -- use any more ends.
  function windows.bring(outcomes)
    if kept_in == IN_BUCKETS then
      mark(others, 'buckets_used')
      if keeps == IN_LOG then keep_buckets() end
    end
    if keeps == IN_BUCKETS and others.log_from ~= NO_LOG then
      if others.log_used + longest <= now then
        others.log_from, begins_log = NO_LOG, true
      elseif max(others.buckets_used, others.log_from) + longest <= now then
        keeps, others.log_from = IN_LOG, 0
      elseif outcomes > MOST_BESIDE then
        -- The log begins behind this call.
        others.log_from, begins_log = now, true
      end
    end
    if view and view.is_kept and others.used + ring_window <= now then take_ring() end
    if #others == 0 and (keeps == IN_LOG or others.log_from == NO_LOG) then others = nil end
    find_longest()
    decide()
    if keeps == IN_BUCKETS and outcomes > MOST_BESIDE then keeps_log, by_log = false, false end
  end

  -- What the window of this call holds.
  function windows.sum()
    if not view then return ring_good, ring_bad end
    if not view_good then view_good, view_bad = sum(view) end
    return view_good, view_bad
  end

  function windows.count(good, bad)
    more_good, more_bad = more_good + good, more_bad + bad
    if not view then return end
    local at = 2 * (slot_of(view, now) % RING) + 1
    good, bad = min(good, MOST_IN_BUCKET - view[at]), min(bad, MOST_IN_BUCKET - view[at + 1])
    view[at], view[at + 1] = view[at] + good, view[at + 1] + bad
    view_good, view_bad = view_good + good, view_bad + bad
  end

  function windows.empty()
    for _, other in ipairs(others or {}) do empty(other) end
    if view then empty(view) end
    view_good, view_bad = 0, 0
    -- An empty log holds all that counts.
    if keeps_log and others then others.log_from = 0 end
  end

  function windows.pack()
    local good, bad = struct.unpack('>dd', totals)
    local packed = { struct.pack(OTHERS, now, version, ring_window, keeps, good, bad, others.used,
      others.buckets_used, others.log_used, others.log_from) }
    for _, other in ipairs(others) do
      if other ~= view then add_to(other, slot_of(other, now), more_good, more_bad) end
      packed[#packed + 1] = struct.pack(OTHER, other.window / 1000, other.used)
      packed[#packed + 1] = struct.pack(COUNTED, unpack(other, 1, 2 * RING))
    end
    return table.concat(packed)
  end

  if packed_others then read() end
  if others or window ~= ring_window or kept_in ~= keeps then join() end
end
