-- Places as operators name them: by their tickets.

-- Finds a place: the set and the id; nothing when no set holds it.
local function find(ticket)
  for _, set in ipairs({ WAITING, RETURNED, AWAY, ADMITTED }) do
    local id = call('ZRANGEBYSCORE', set, ticket, ticket, 'LIMIT', 0, 1)[1]
    if id then return set, id end
  end
end
