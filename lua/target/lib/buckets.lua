-- The window in buckets, each a twentieth of it: the 20 last and the running one, so that an
-- outcome counts for one window and up to one bucket longer. They hold the latencies of every
-- target, and the outcomes of one that keeps them in buckets. Needs meta.lua.
-- KEYS: buckets. ARGV: none. Reply: none; a part moves the window on, and counts.
--
-- A bucket is the field of its number modulo 21: successes, failures, latencies by upper bound.
local RING = 21
local BUCKET = '>' .. string.rep('I4', COUNTS)
-- The most of each in a bucket: 21 of them, successes and failures, times 10^6 are exact in a double.
local FULL = 200000000

local left, all_left = {}, false -- the fields that have left the window
local counts, is_first -- the present bucket, once it is counted; nothing stands in the store for it

local function bucket_of(time)
  return floor(time / (window / (RING - 1)))
end

local function forget_buckets()
  bucket, left, all_left = bucket_of(now), {}, true
  if kept_in == IN_BUCKETS then successes, failures = 0, 0 end
end

-- Moves the window on.
local function rotate()
  local present = bucket_of(now)
  if present - bucket >= RING then return forget_buckets() end
  if present == bucket then return end
  for of = bucket + 1, present do left[#left + 1] = text(of % RING) end
  if kept_in == IN_BUCKETS then
    for _, packed in ipairs(call('HMGET', BUCKETS, unpack(left))) do
      if packed then
        local good, bad = struct.unpack('>I4I4', packed)
        successes, failures = successes - good, failures - bad
      end
    end
  end
  bucket = present
end

local function read_bucket()
  if counts then return end
  local packed = not all_left and #left == 0 and call('HGET', BUCKETS, text(bucket % RING))
  is_first = not packed
  if is_first then
    counts = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
  else
    counts = { struct.unpack(BUCKET, packed) }
  end
end

-- Counts `n` more of the i-th; returns how many found room.
local function count(i, n)
  read_bucket()
  if n > FULL - counts[i] then n = FULL - counts[i] end
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
