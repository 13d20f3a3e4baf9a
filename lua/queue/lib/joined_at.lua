-- When places joined: samples, one a second, and one for every 64th ticket, with its estimate, as
-- soon as another join brings that. They are in the sorted set `marks`.

-- The join time of a ticket by the last sample at or before it; false when that is forgotten.
local function joined_at(ticket)
  local sample = call('ZREVRANGEBYSCORE', MARKS, ticket, '-inf', 'LIMIT', 0, 1)[1]
  return sample and tonumber(string.match(sample, '^%d+:(%d+)'))
end
