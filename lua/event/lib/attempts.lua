-- What an attempt that failed makes of a claim: dead when it was the last. Needs taken.lua.
-- KEYS: taken, dead. ARGV: none. Reply: none; a part gives `count_attempt`, `make_dead`.

local function make_dead(sequence, fence, attempts, visitor_id, cause)
  local died = struct.pack('>d', math.floor(wall / 1000000))
  call('HSET', TAKEN, sequence, entry(fence, attempts, visitor_id) .. died .. cause)
  call('ZADD', DEAD, sequence, sequence)
end

-- Counts it; whether there may be another.
local function count_attempt(sequence, packed, cause)
  local fence, attempts, visitor_id = read_entry(packed)
  attempts = attempts + 1
  if attempts >= m.max_attempts then
    make_dead(sequence, fence, attempts, visitor_id, cause)
    return false
  end
  call('HSET', TAKEN, sequence, entry(fence, attempts, visitor_id))
  return true
end
