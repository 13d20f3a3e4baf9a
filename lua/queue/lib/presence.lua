-- Which places are present: the slots in which they were seen, heard time, and the check-in period.
-- Needs ring.lua, heard_at, heard_wall and roll_left.
--
-- The first visitor that polls once the last slot is idle_ttl / 4 old opens a slot, so an outage
-- opens none. A waiting place that is seen sets the bit of its ticket in the slot's bitmap; one
-- that returned, or is too far behind the head for the bitmap, has the number of the slot in
-- its record. Heard time advances only while visitors poll, by at most STEP between two polls:
-- what is measured in it does not run out during an outage of Redis or of admission.
--
-- When no visitor in line has polled for first_poll_ttl, the next one who polls opens a check-in
-- period (`roll_…`), with a slot of its own: from then on a place counts as present only when it
-- joined or was seen since.

-- The check-in period pauses when no visitor has polled for this long: polls come at least so
-- often.
local CHECK_IN_PAUSE = 20000000

-- For how long no visitor has polled: by queue time or by the store's own clock, which runs on in
-- an outage.
local function silence()
  return math.max(now - (m.heard_at or 0), wall - (m.heard_wall or 0))
end

-- What is left of the check-in period; 0 when there is none.
local function check_in_left()
  local left = m.roll_left or 0
  return left > 0 and math.max(0, left - math.min(now - m.heard_at, CHECK_IN_PAUSE)) or 0
end
