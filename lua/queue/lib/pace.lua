-- Promotion: the room that the capacity and the health leave, and what was promoted. Needs log.lua,
-- withheld.lua, held.lua, health.lua and withheld_until.
local MAX_CHUNK, MAX_LOG, MAX_INTERVAL = 100, 256, 3600000000

-- Places promoted after a time, less those that gave their share back.
local function promoted_since(time)
  local sum = 0
  for i = #log, 3, -3 do
    if log[i - 1] <= time then break end
    sum = sum + log[i]
  end
  return sum
end

-- Makes room in the log: drops what no interval reaches any more, else makes one entry of the two
-- neighbours, older than the interval, that lie closest for their age.
local function shorten_log()
  local pair, closest = 1, math.huge
  if log[2] > now - MAX_INTERVAL then
    for i = 1, #log - 5, 3 do
      local age = now - log[i + 4]
      if age < m.interval then break end
      local closeness = (log[i + 4] - log[i]) / age
      if closeness < closest then pair, closest = i, closeness end
    end
    log[pair + 3], log[pair + 5] = log[pair], log[pair + 2] + log[pair + 5]
  end
  for _ = 1, 3 do table.remove(log, pair) end
end

-- Logs n promotions made now. Entries closer than interval / 200 become one that counts by its
-- later time, and past the bound older ones do: the window can only look fuller than it is, never
-- emptier.
local function record(n)
  local k = #log
  if k > 0 and now - log[k - 2] < m.interval / 200 then
    log[k - 1], log[k] = now, log[k] + n
  else
    log[k + 1], log[k + 2], log[k + 3] = now, now, n
  end
  if #log > 3 * MAX_LOG then shorten_log() end
  spend_probes(n)
end

-- Free slots by the capacity rule, and no more than may be probed with. Ends are judged by their
-- stored time, swept or not.
local function room()
  if m.capacity == 0 then return probes_left() end
  if now < (m.withheld_until or 0) or not is_clock_trusted() then return 0 end
  local function after(set, time)
    return call('ZCOUNT', set, '(' .. string.format('%.0f', time), '+inf')
  end
  local taken = after(READY, now) + after(ACTIVE, now)
  if m.local_answers == 1 then taken = taken + after(REVOKED, now - WITHHELD) end
  return math.min(m.capacity - taken, probes_left())
end

local function slice_length()
  return math.max(100000, math.floor(m.interval / 100))
end

-- Makes places ready. They are in no set of the line any more. At most MAX_CHUNK.
local function admit(ids, tickets)
  local ready, admitted, held, till = {}, {}, {}, now + m.claim_ttl
  for i, id in ipairs(ids) do
    ready[2 * i - 1], ready[2 * i] = till, id
    admitted[2 * i - 1], admitted[2 * i] = tickets[i], id
    held[2 * i - 1], held[2 * i] = id, pack_record(S_READY, tickets[i], now, till)
  end
  call('ZADD', READY, unpack(ready))
  call('ZADD', ADMITTED, unpack(admitted))
  call('HSET', HELD, unpack(held))
end
