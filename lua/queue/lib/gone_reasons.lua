-- Why places ended, in two hashes: that of the present period, and that of the one before.
local GONE_KEPT = 600000000 -- a reason is returned for ten minutes

-- Reasons are written to the hash of the present period, `gone_period`: 0 or 1.
local reason_of = {} -- by ticket: the reasons of this call (end_place.lua)

-- The id, the reason and when the place with this ticket ended; nothing when no reason is known.
local function read_gone_reason(ticket)
  local field, period = string.format('%.0f', ticket), counter('gone_period')
  local packed = reason_of[field]
    or call('HGET', KEYS[GONE + period], field)
    or call('HGET', KEYS[GONE + 1 - period], field)
  if packed then return string.sub(packed, 1, 14), struct.unpack('>Bd', packed, 15) end
end
