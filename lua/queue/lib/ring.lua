-- The ring of slots in which visitors are seen (presence.lua).

-- The bitmap of a slot reaches so many times max_waiting behind the head.
local REACH = 4

-- Of each slot of the ring the ticket of bit 0 (1 to 5) and the last ticket when it was opened (6
-- to 10).
local function read_ring()
  local packed = call('HGET', META, 'ring')
  return packed and cmsgpack.unpack(packed) or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end
