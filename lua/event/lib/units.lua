-- How many applications wait, and for how many of them there is a unit. Needs meta.lua.
-- KEYS: taken, leases, returned, codes. ARGV: none. Reply: none; a part counts.
--
-- An application binds a unit when it is issued, claimed, waiting for a retry, or dead. Those that
-- were given back bind none, and come first: for each of them there is one.

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
