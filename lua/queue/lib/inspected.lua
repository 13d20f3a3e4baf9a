-- Places as operators name and read them. Needs held.lua.

-- What is shown of a place that is in this set, by its record: status, since when (µs of the
-- store's clock, which is what people read; 0 unknown, nothing: since it joined) and left_ms; or
-- IS_GONE and the reason.
local function inspected(set, ticket, record)
  if set == WAITING or set == RETURNED then return S_WAITING, nil, 0 end
  local status, detail, since = locate_held(ticket, record)
  if not status or status == IS_GONE then return IS_GONE, detail or LOST end
  if status == S_AWAY then return S_AWAY, 0, 0 end
  return status, since + wall - now, ceil((detail - now) / 1000)
end

-- Finds a place: the set and the id; nothing when no set holds it.
local function find(ticket)
  for _, set in ipairs({ WAITING, RETURNED, AWAY, ADMITTED }) do
    local id = call('ZRANGEBYSCORE', set, ticket, ticket, 'LIMIT', 0, 1)[1]
    if id then return set, id end
  end
end
