-- What every script begins with: the store's clock.
-- KEYS: none. ARGV: now, the first of every script. Reply: none; a part sets `wall`.

local wall -- the store's clock, in microseconds

local function read_wall()
  if ARGV[1] ~= '' then
    wall = tonumber(ARGV[1])
  else
    local time = call('TIME')
    wall = time[1] * 1000000 + time[2]
  end
end
