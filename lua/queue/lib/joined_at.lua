-- When places joined: a mark a second, and one for every 64th ticket, with its estimate, as soon as
-- another join brings that.

-- The join time of a ticket by the last mark at or before it; false when that is forgotten.
local function joined_at(ticket)
  local mark = call('ZREVRANGEBYSCORE', MARKS, ticket, '-inf', 'LIMIT', 0, 1)[1]
  return mark and tonumber(string.match(mark, '^%d+:(%d+)'))
end
