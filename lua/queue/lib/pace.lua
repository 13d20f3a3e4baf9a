-- How many may be promoted now, and the log of what was. Needs PACE_FIELDS and lib/revoked.lua.
--
-- The log is a flat list of (first, last, count), oldest first: promotions made between two times,
-- less those whose claim lapsed or was given up. It is packed in the meta hash.
local EVEN, ALL_AT_ONCE = 1, 2
local MAX_CHUNK, MAX_LOG, MAX_INTERVAL = 100, 256, 3600000000
local PACE_FIELDS = { 'slice_at', 'carry', 'left', 'left_until', 'credit', 'credit_at' }
local log

local function read_log()
  local packed = call('HGET', META, 'slices')
  log = packed and cmsgpack.unpack(packed) or {}
end

local function write_log()
  write_even_if_full()
  call('HSET', META, 'slices', cmsgpack.pack(log))
end

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

-- Logs n promotions made now. Entries closer than interval / 200 become one that counts by its later
-- time, and past the bound older ones do: the window can only look fuller than it is, never emptier.
local function record(n)
  local k = #log
  if k > 0 and now - log[k - 2] < m.interval / 200 then
    log[k - 1], log[k] = now, log[k] + n
  else
    log[k + 1], log[k + 2], log[k + 3] = now, now, n
  end
  if #log > 3 * MAX_LOG then shorten_log() end
end

-- A turn that was not taken gives its share of the rate back to the interval in which it was promoted.
local function give_back(promoted_at)
  -- The last entry that begins at or before that time.
  local low, high = 0, #log / 3
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if log[3 * middle - 2] <= promoted_at then low = middle else high = middle - 1 end
  end
  if low == 0 or log[3 * low - 1] < promoted_at or log[3 * low] == 0 then return end
  log[3 * low] = log[3 * low] - 1
  if log[3 * low - 1] > now - m.interval then m.credit, m.credit_at = (m.credit or 0) + 1, now end
end

-- Free slots by the capacity rule. Ends are judged by their stored time, swept or not. Needs withheld_until.
local function room()
  if m.capacity == 0 then return math.huge end
  if now < (m.withheld_until or 0) or not is_clock_trusted() then return 0 end
  local after = function(time) return '(' .. string.format('%.0f', time) end
  local taken = call('ZCOUNT', READY, after(now), '+inf') + call('ZCOUNT', ACTIVE, after(now), '+inf')
  if m.local_answers == 1 then taken = taken + call('ZCOUNT', REVOKED, after(now - WITHHELD), '+inf') end
  return m.capacity - taken
end

local function slice_length()
  return math.max(100000, math.floor(m.interval / 100))
end

-- Free promotions by the rate rule for a join that finds nobody waiting: what the interval leaves,
-- but at an even pace no more than a slice's worth in the time of a slice.
local function free_at_once()
  if m.batch == 0 then return math.huge end
  local free = m.batch - promoted_since(now - m.interval)
  if m.pace == EVEN then
    local slice = slice_length()
    free = math.min(free, math.ceil(m.batch * slice / m.interval) - promoted_since(now - slice))
  end
  return free
end

-- Starts the slice or batch that is due; returns how late it is in microseconds.
local function start_slice()
  local length = m.pace == EVEN and slice_length() or m.interval
  local before = (m.slice_at or 0) > 0 and m.slice_at
  local since = before and now - before or length
  if since < length then return 0 end
  -- A batch waits for the interval to have room: begun without, it would be dropped unused.
  if m.pace == ALL_AT_ONCE and promoted_since(now - m.interval) >= m.batch then return 0 end
  local late = since - length
  if m.pace == EVEN then
    local units = m.batch * math.min(since, 2 * length) + math.min(m.carry or 0, m.interval - 1)
    local whole = math.floor(units / m.interval)
    local share = math.min(m.credit or 0, math.ceil(m.batch * length / m.interval))
    m.slice_at, m.carry = now, units - whole * m.interval
    m.left, m.credit = whole + share, (m.credit or 0) - share
    m.left_until = now + 2 * length
  else
    -- The rhythm is kept when a tick is a little late; after a pause it begins anew.
    m.slice_at = before and late < 1000000 and before + length or now
    m.left, m.left_until = m.batch, now + 1000000
  end
  return late
end

-- How many may be promoted now by the rate rule, and how late they are: by the slice, or without a rate by
-- the tick before. Only where places waited at that tick (`waited_at`, else false) is anybody late.
local function free_by_rate(waited_at)
  if m.batch == 0 then return math.huge, waited_at and now - waited_at or 0 end
  if m.credit and m.credit > 0 and now - (m.credit_at or 0) >= m.interval then m.credit = 0 end
  local late = start_slice()
  if (m.left or 0) > 0 and now > m.left_until then m.left = 0 end
  local free = m.left or 0
  if m.pace == ALL_AT_ONCE then free = free + (m.credit or 0) end
  return math.min(free, m.batch - promoted_since(now - m.interval)), waited_at and late or 0
end

-- Takes n promotions from the slice, and past it from what was given back.
local function spend(n)
  if m.batch == 0 then return end
  local rest = (m.left or 0) - n
  m.left = math.max(0, rest)
  if rest < 0 then m.credit = math.max(0, (m.credit or 0) + rest) end
end

-- Makes places ready. They are in no set of the line any more. At most MAX_CHUNK.
local function admit(ids, tickets)
  local ready, admitted, held, till = {}, {}, {}, now + m.claim_ttl
  for i, id in ipairs(ids) do
    ready[2 * i - 1], ready[2 * i] = till, id
    admitted[2 * i - 1], admitted[2 * i] = tickets[i], id
    held[2 * i - 1], held[2 * i] = id, note(S_READY, tickets[i], now, till)
  end
  call('ZADD', READY, unpack(ready))
  call('ZADD', ADMITTED, unpack(admitted))
  call('HSET', HELD, unpack(held))
end
