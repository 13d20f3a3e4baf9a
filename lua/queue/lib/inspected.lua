-- Places as operators read them. Needs held.lua.

-- What is shown of a place that stands in this set, by its record: status, since when (µs of the
-- store's clock, which is what people read; 0 unknown, nothing: since it joined) and left_ms; or
-- IS_GONE and the reason.
local function inspected(set, ticket, record)
  if set == WAITING or set == RETURNED then return S_WAITING, nil, 0 end
  local status, detail, since = locate_held(ticket, record)
  if not status or status == IS_GONE then return IS_GONE, detail or LOST end
  if status == S_AWAY then return S_AWAY, 0, 0 end
  return status, since + wall - now, ceil((detail - now) / 1000)
end
