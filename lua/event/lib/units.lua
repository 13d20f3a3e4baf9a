-- Who waits, and for how many of them there is something to give. Needs meta.lua.
-- KEYS: taken, leases, returned, codes. ARGV: none. Reply: none; a part counts.
--
-- A unit is bound by whoever was issued one, holds a claim, is to be tried again, or is dead. Those
-- who were given back have none, and come first: for each of them there is one.

-- How many wait, and for how many of these there is a unit, and with codes a code. Needs `given`,
-- `issued`, `head` and `tail`.
local function count_units()
  local returned = call('ZCARD', RETURNED)
  local free = m.given - m.issued - (call('HLEN', TAKEN) - returned)
  if m.issue == ISSUE_CODES then
    free = math.min(free, call('LLEN', CODES) - call('ZCARD', LEASES))
  end
  local waiting = returned + m.tail - m.head
  return waiting, math.max(0, math.min(waiting, free)), returned
end
