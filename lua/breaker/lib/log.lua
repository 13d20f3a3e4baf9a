-- The outcomes of a target that logs them: one member each, at its time, so that the window is
-- exact; at most 100 000 of them, then the oldest go. Needs meta.lua and others.lua.
-- KEYS: successes, failures. ARGV: none. Reply: none; a part counts and adds.
local MOST_EVICTED = 128

local log -- what can be done with it, where there is one

if others or keeps == IN_LOG then
  local good_size, bad_size = 0, 0 -- members, those that have left the window included
  local good, bad = {}, {} -- what is to be added: score, member, …

  -- How many of a set are in the call's window, and how many members it has, a few of those evicted
  -- that have left every window.
  local function counted(set)
    local size = call('ZCARD', set)
    if size == 0 then return 0, 0 end
    local live = call('ZCOUNT', set, '(' .. text(now - window), '+inf')
    local kept = live
    if longest > window then kept = call('ZCOUNT', set, '(' .. text(now - longest), '+inf') end
    local dead = min(size - kept, MOST_EVICTED)
    if dead > 0 then
      call('ZREMRANGEBYRANK', set, 0, dead - 1)
      -- Where the clock leaps back, the time in which they were over must not come again.
      is_changed = true
    end
    return live, size - dead
  end

  local function list(members, n)
    for _ = 1, n do
      number = number + 1
      members[#members + 1], members[#members + 2] = text(now), text(number)
    end
  end

  local function add(set, members, renews)
    if #members > 0 then call('ZADD', set, unpack(members)) end
    if renews then expire(set) end
  end

  log = {}

  function log.count()
    local live_good, live_bad
    live_good, good_size = counted(SUCCESSES)
    live_bad, bad_size = counted(FAILURES)
    return live_good, live_bad
  end

  function log.forget()
    call('UNLINK', SUCCESSES, FAILURES)
    good_size, bad_size = 0, 0
  end

  -- Makes room for `n` more: the oldest of both sets go.
  function log.make_room(n)
    local over = good_size + bad_size + n - MOST_IN_LOG
    if over <= 0 then return end
    local last = text(over - 1)
    local goods = call('ZRANGE', SUCCESSES, 0, last, 'WITHSCORES')
    local bads = call('ZRANGE', FAILURES, 0, last, 'WITHSCORES')
    local g, b = 0, 0
    for _ = 1, over do
      local next_good = tonumber(goods[2 * g + 2]) or math.huge
      local next_bad = tonumber(bads[2 * b + 2]) or math.huge
      local was_live = by_log and min(next_good, next_bad) > now - window and 1 or 0
      if next_good <= next_bad then
        g, successes = g + 1, successes - was_live
      else
        b, failures = b + 1, failures - was_live
      end
    end
    if g > 0 then call('ZREMRANGEBYRANK', SUCCESSES, 0, g - 1) end
    if b > 0 then call('ZREMRANGEBYRANK', FAILURES, 0, b - 1) end
    good_size, bad_size = good_size - g, bad_size - b
  end

  function log.add(more_good, more_bad)
    list(good, more_good)
    list(bad, more_bad)
    good_size, bad_size = good_size + more_good, bad_size + more_bad
  end

  -- Writes what is to be added. `renews`: it is time to set the TTL of both keys, as for a new
  -- key.
  function log.write(renews)
    add(SUCCESSES, good, renews or #good > 0 and #good / 2 == good_size)
    add(FAILURES, bad, renews or #bad > 0 and #bad / 2 == bad_size)
  end
end
