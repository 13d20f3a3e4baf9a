-- Whether calls to a target go on: closed, open, half open, and what moves it from one to the next.
-- Needs meta.lua, reporters.lua, buckets.lua and log.lua.
-- KEYS: permits. ARGV: none. Reply: none; a part moves the state.

-- A later change has a larger version, also on a store that forgot the target in between.
local function become(next)
  state, changed, version = next, now, max(wall, version + 1)
  probe_successes, probe_failures, is_changed = 0, 0, true
end

-- What was reported is no matter any more: the next to come is judged by itself.
local function begin_anew()
  forget_buckets()
  forget_log()
  forgive()
  call('UNLINK', PERMITS)
end

local function is_reached(good, bad)
  return good * 1000000 >= threshold * (good + bad)
end

local function is_unhealthy()
  return successes + failures >= min_samples and not is_reached(successes, failures)
end

-- To be called after each outcome, and once by a call that brings none: time alone may have changed
-- the window.
local function judge()
  if state == CLOSED then
    if is_unhealthy() and reach_quorum() then become(OPEN) end
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
  if kept_in == IN_LOG then count_log() end
  if state ~= CLOSED and reported <= now - window then
    become(CLOSED)
    begin_anew()
  elseif state == OPEN and now >= changed + open_for then
    become(HALF_OPEN)
    begin_anew()
  end
  judge()
end

-- For calls that bring no outcome: writes what has changed.
local function save_changes()
  if not is_changed then return end
  forget_left()
  save()
end
