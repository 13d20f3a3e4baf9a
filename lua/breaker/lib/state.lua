-- Whether calls to a target go on: closed, open, half open, and what moves it from one to the next.
-- Needs meta.lua, reporters.lua, buckets.lua, others.lua and log.lua.
-- KEYS: permits. ARGV: none. Reply: none; a part moves the state.

-- A later change has a larger version, also on a store that forgot the target in between.
local function become(next)
  state, changed, version = next, now, max(wall, version + 1)
  probe_successes, probe_failures, is_changed = 0, 0, true
end

-- What was reported no longer counts: the window starts empty.
local function clear_window()
  forget_buckets()
  if windows then windows.empty() end
  if log then log.forget() end
  successes, failures = 0, 0
  forgive()
  call('UNLINK', PERMITS)
end

local function is_reached(good, bad)
  return good * 1000000 >= threshold * (good + bad)
end

-- To be called after each outcome, and once by a call that brings none: time alone may have changed
-- the window.
local function judge()
  if state == CLOSED then
    local is_judged = successes + failures >= min_samples
    if is_judged and not is_reached(successes, failures) and reach_quorum() then become(OPEN) end
  elseif state == HALF_OPEN and probe_successes + probe_failures >= probes then
    if is_reached(probe_successes, probe_failures) then
      become(CLOSED)
      -- The window may hold failures that were no probes: they do not open it again by themselves.
      forgive()
    elseif reach_quorum() then
      become(OPEN)
    else
      -- One bad replica does not keep the others in fallback: further probes decide.
      probe_successes, probe_failures = 0, 0
    end
  end
end

-- Moves the window on to now, and the state with it.
local function move_on()
  forget_silent()
  rotate()
  successes, failures = ring_good, ring_bad
  if windows then successes, failures = windows.sum() end
  if keeps_log and not begins_log then
    local good, bad = log.count()
    if by_log then successes, failures = good, bad end
  end
  -- A short window of one caller does not end the fallback of the others, nor empty their windows.
  if state ~= CLOSED and reported <= now - longest then
    become(CLOSED)
    clear_window()
  elseif state == OPEN and now >= changed + open_for then
    become(HALF_OPEN)
    clear_window()
  end
  judge()
end

-- Writes what is known of the target. `if_room`: nothing where Redis has no memory left; returns
-- whether it was written.
local function save(if_room)
  local numbers = struct.pack(NUMBERS, now, offset, state, version, changed, reported,
    probe_successes, probe_failures, ring_good, ring_bad, bucket, number, ring_window, keeps)
  local write = if_room and redis.pcall or call
  if others then
    local packed = windows.pack()
    local written = write('HSET', META, 'numbers', numbers, 'totals', totals, 'reporters',
      reporters, 'others', packed)
    return type(written) ~= 'table'
  end
  call('HSET', META, 'numbers', numbers, 'totals', totals, 'reporters', reporters)
  if packed_others then call('HDEL', META, 'others') end
  return true
end
