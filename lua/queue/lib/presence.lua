-- Who is present: the slots in which places were seen, heard time, and the roll-call.
-- Needs heard_at, heard_wall and roll_left.
--
-- A slot is opened by the first visitor heard once the last slot is idle_ttl / 4 old, so an outage
-- opens none. A waiting place that is seen sets the bit of its ticket in the slot's bitmap; one
-- that returned, or stands too far behind the head for the bitmap, has the number of the slot in
-- its record. Heard time advances only while visitors are heard, by at most STEP between two of
-- them: what is measured in it does not run out during an outage of the store or of admission.
--
-- When nobody in line was heard for first_poll_ttl, the first one who is opens a roll-call, with a
-- slot of its own: from then on a place counts as present only when it joined or was seen since.

-- The roll-call stands still when nobody has been heard for this long: polls come at least so
-- often.
local ROLL_CALL_STILL = 20000000

-- Of each slot of the ring the ticket of bit 0 (1 to 5) and the last ticket when it was opened (6
-- to 10).
local function read_ring()
  local packed = call('HGET', META, 'ring')
  return packed and cmsgpack.unpack(packed) or { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end

-- For how long nobody was heard: by queue time or by the store's own clock, which runs on in an
-- outage.
local function silence()
  return math.max(now - (m.heard_at or 0), wall - (m.heard_wall or 0))
end

-- What is left of the roll-call; 0 when none is on.
local function roll_call_left()
  local left = m.roll_left or 0
  return left > 0 and math.max(0, left - math.min(now - m.heard_at, ROLL_CALL_STILL)) or 0
end
