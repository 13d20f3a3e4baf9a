-- The notes why places are gone, in two hashes: the present period's, and that of the one before.
local GONE_KEPT = 600000000 -- a reason is told for ten minutes

-- Notes of period 0 or 1, `gone_period`, are written now.
local noted = {} -- what this call has noted (end_place.lua)

-- The id, reason and time of the note on a ticket; nothing when there is none.
local function read_gone_reason(ticket)
  local field, period = string.format('%.0f', ticket), counter('gone_period')
  local note = noted[field]
    or call('HGET', KEYS[GONE + period], field)
    or call('HGET', KEYS[GONE + 1 - period], field)
  if note then return string.sub(note, 1, 14), struct.unpack('>Bd', note, 15) end
end
