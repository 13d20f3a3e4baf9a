-- The ring of slots in which visitors are seen (presence.lua).

-- The bitmap of a slot reaches so many times max_waiting behind the head.
local REACH = 4

-- Of each slot of the ring the ticket of bit 0 (1 to 5) and the last ticket when it was opened (6
-- to 10).
local ring_read
local function read_ring()
  if not ring_read then
    local packed = call('HGET', META, 'ring')
    ring_read = packed and cmsgpack.unpack(packed) or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
  end
  return ring_read
end

-- Whether a bit of a part of a bitmap is set.
local function has_bit(bits, at)
  local byte = at >= 0 and string.byte(bits, math.floor(at / 8) + 1)
  return byte and bit.band(byte, 2 ^ (7 - at % 8)) ~= 0
end
