-- One window in buckets, each 5 % of it: the 20 last and the running one, so that an outcome counts
-- for one window and up to one bucket longer. They hold the latencies of every target, and the
-- outcomes of one that keeps them in buckets. Needs meta.lua.
-- KEYS: buckets. ARGV: none. Reply: none; a part moves the window on, and counts.
--
-- A bucket is the field of its number modulo 21: successes, failures, latencies by upper bound.
local RING = 21
local BUCKET = '>' .. string.rep('I4', COUNTS)
-- At most MOST_IN_BUCKET of each: 21 buckets, successes and failures, × 10^6 are exact in a double.

local left, all_left = {}, false -- the fields that have left the window
local counts, is_first -- the present bucket, once it is counted; Redis holds nothing of it yet

local function bucket_of(time)
  return floor(time / (ring_window / (RING - 1)))
end

local function forget_buckets()
  bucket, left, all_left, ring_good, ring_bad = bucket_of(now), {}, true, 0, 0
end

-- Moves the window on.
local function rotate()
  local present = bucket_of(now)
  if present - bucket >= RING then return forget_buckets() end
  if present == bucket then return end
  for of = bucket + 1, present do left[#left + 1] = text(of % RING) end
  if keeps == IN_BUCKETS then
    for _, packed in ipairs(call('HMGET', BUCKETS, unpack(left))) do
      if packed then
        local good, bad = struct.unpack('>I4I4', packed)
        ring_good, ring_bad = ring_good - good, ring_bad - bad
      end
    end
  end
  bucket = present
end

-- The buckets as a table, by their numbers; nothing of those that have left the window.
local function read_ring()
  local ring, fields = {}, {}
  if all_left then return ring end
  local is_left = {}
  for _, of in ipairs(left) do is_left[of] = true end
  for number = bucket - RING + 1, bucket do fields[#fields + 1] = text(number % RING) end
  for at, packed in ipairs(call('HMGET', BUCKETS, unpack(fields))) do
    if packed and not is_left[fields[at]] then
      ring[bucket - RING + at] = { struct.unpack(BUCKET, packed) }
    end
  end
  return ring
end

-- Counts `n` more of the i-th; returns how many found room.
local function count(i, n)
  if not counts then
    local packed = not all_left and #left == 0 and call('HGET', BUCKETS, text(bucket % RING))
    is_first = not packed
    if is_first then
      counts = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
    else
      counts = { struct.unpack(BUCKET, packed) }
    end
  end
  if n > MOST_IN_BUCKET - counts[i] then n = MOST_IN_BUCKET - counts[i] end
  counts[i] = counts[i] + n
  return n
end

local function forget_left()
  if all_left then
    call('UNLINK', BUCKETS)
  elseif #left > 0 then
    call('HDEL', BUCKETS, unpack(left))
  end
end

local function save_bucket()
  if not counts then return end
  call('HSET', BUCKETS, text(bucket % RING), struct.pack(BUCKET, unpack(counts, 1, COUNTS)))
  if is_first then expire(BUCKETS) end
end
