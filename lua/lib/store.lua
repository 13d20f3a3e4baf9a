-- What every script begins with: the store's clock, and the codes that all subsystems share.
-- KEYS: none. ARGV: now, the first of every script. Reply: none; sets `wall`, names the codes.

-- codes: services/core/src/store/reply.rs mirrors them; those of a subsystem follow
local OK, NO_RULES = 0, 1

local wall -- the store's clock, in microseconds

local function read_wall()
  if ARGV[1] ~= '' then
    wall = tonumber(ARGV[1])
  else
    local time = call('TIME')
    wall = time[1] * 1000000 + time[2]
  end
end
