-- Which places left the line, in the order in which they did: those that were given up or evicted.
-- A process that answers polls by itself reads them every second (departures.lua beside lib).
local DEPARTURES_KEPT = 16384

-- These places, by their tickets, leave the line.
local function depart(tickets)
  if #tickets == 0 then return end
  write_even_if_full()
  local count, flat = call('HINCRBY', META, 'departed', #tickets), {}
  -- Version 0.2.0 removes a queue without this key.
  if count == #tickets then call('UNLINK', DEPARTURES) end
  for i, ticket in ipairs(tickets) do
    flat[2 * i - 1], flat[2 * i] = count - #tickets + i, ticket
  end
  call('ZADD', DEPARTURES, unpack(flat))
  call('ZREMRANGEBYRANK', DEPARTURES, 0, -DEPARTURES_KEPT - 1)
end
