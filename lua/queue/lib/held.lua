-- What is held of a place outside `waiting`, or far behind its head. Needs heard.

-- Status (S_WAITING: returned), ticket, since when it has this status (away: in heard time; in
-- line: the number of the slot in which it was last seen), and its end (ready and active).
local RECORD = '>Bddd'

local function pack_record(status, ticket, since, till)
  return struct.pack(RECORD, status, ticket, since, till)
end

-- Of the record of a place that is to have this ticket: status and set (in line), or status, end,
-- since and whether the session is short (admitted), or IS_GONE and the reason; nothing when it is
-- not this place's. An end is judged by its stored time, swept or not.
local function locate_held(ticket, record)
  if not record then return end
  local status, of, since, till = struct.unpack(RECORD, record)
  if of ~= ticket then return end
  if status == S_WAITING then return S_WAITING, RETURNED end
  if status == S_FAR then return S_WAITING, WAITING end
  if status == S_AWAY then
    if since + m.keep_ttl > counter('heard') then return S_AWAY, AWAY end
    return IS_GONE, ABANDONED
  end
  if till <= now then return IS_GONE, status == S_READY and UNCLAIMED or EXPIRED end
  if status == S_SHORT then return S_ACTIVE, till, since, true end
  return status, till, since
end
