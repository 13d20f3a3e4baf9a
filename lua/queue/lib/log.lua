-- The log of promotions, and turns that were not taken. Needs credit and credit_at.
--
-- The log is a flat list of (first, last, count), oldest first: promotions made between two times,
-- less those whose claim lapsed or was given up. It is packed in the meta hash.
local log

local function read_log()
  local packed = call('HGET', META, 'slices')
  log = packed and cmsgpack.unpack(packed) or {}
end

local function write_log()
  write_even_if_full()
  call('HSET', META, 'slices', cmsgpack.pack(log))
end

-- A turn that was not taken gives its share of the rate back to the interval in which it was
-- promoted.
local function give_back(promoted_at)
  -- The last entry that begins at or before that time.
  local low, high = 0, #log / 3
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if log[3 * middle - 2] <= promoted_at then low = middle else high = middle - 1 end
  end
  if low == 0 or log[3 * low - 1] < promoted_at or log[3 * low] == 0 then return end
  log[3 * low] = log[3 * low] - 1
  if log[3 * low - 1] > now - m.interval then
    m.credit, m.credit_at = (m.credit or 0) + 1, now
  end
end
