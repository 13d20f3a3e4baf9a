-- The exact limit: every unit is a member of a sorted set, its score the limit time (µs) at which
-- it was taken. It counts while that is less than a window ago. Needs lib/store, lib/forward,
-- codes.
-- KEYS: the counter. ARGV: none. Reply: none; a part gives `log`.

-- A member: the time again (µs), a number that distinguishes those of one microsecond, and the
-- window (s) for which the TTL was set. The newest also has how many members there are, and a time
-- (µs before its own) since which all of them were taken: while that lies in the window all count,
-- and nothing need be counted. Behind that is the offset of limit time, where it is not 0.
local MEMBER, NEWEST, NEWEST_SIZE = '>I7I2I3', '>I7I2I3I2I5', 19
local LONG_AGO = 2 ^ 40 - 1 -- longer than any window

-- Units that are over are taken away with those that come, so the set never grows past the limit:
-- at least as many as come, more while this call, whatever its logs, has not taken away so many.
local left_to_evict = 64

-- The newest member of each log that this call has read and not written since, how many of its
-- units count, and for which window.
local members, counted, counted_for = {}, {}, {}

local function log(key, limit, window, needed, take)
  local span = 1000 * window
  local member = members[key]
  -- From the end: Redis would walk through the set to its last rank.
  if member == nil then member = call('ZRANGE', key, '0', '0', 'REV')[1] or false end
  local latest, number, seconds, stored, age, offset, used = 0, 0, 0, 0, 0, 0, 0
  if member then
    latest, number, seconds, stored, age = struct.unpack(NEWEST, member)
    if #member > NEWEST_SIZE then offset = tonumber(string.sub(member, NEWEST_SIZE + 1)) end
  end
  local now, grown = forward(offset, latest)
  local behind = grown ~= 0 and text(grown) or ''
  if counted_for[key] == window then
    used = counted[key]
  elseif latest - age > now - span then
    used = stored
  elseif latest > now - span then
    used = call('ZCOUNT', key, '(' .. text(now - span), '+inf')
  end
  local fits = used + needed <= limit
  local reset, retry = max(0, ceil((latest + span - now) / 1000)), 0
  if not fits then
    -- When so many of the oldest are over, there is room.
    local last = text(stored + needed - limit - 1)
    local oldest = call('ZRANGE', key, last, last, 'WITHSCORES')
    retry = ceil((oldest[2] + span - now) / 1000)
  elseif take > 0 then
    local over = min(stored - used, max(take, left_to_evict))
    age = over == stored and 0 or min(age + now - latest, LONG_AGO)
    local added, at, lasting = {}, text(now), max(window, 1000 * seconds)
    if now > latest then number = 0 end
    for i = 1, take - 1 do
      added[2 * i - 1], added[2 * i] = at, struct.pack(MEMBER, now, number + i, lasting / 1000)
    end
    added[2 * take - 1] = at
    added[2 * take] =
      struct.pack(NEWEST, now, number + take, lasting / 1000, stored - over + take, age) .. behind
    call('ZADD', key, unpack(added))
    if over > 0 then
      call('ZREMRANGEBYRANK', key, '0', text(over - 1))
      left_to_evict = left_to_evict - over
    end
    if not ttl_does(latest, seconds, now, lasting) then
      call('PEXPIRE', key, text(4 * lasting))
    end
    members[key], counted_for[key] = nil, nil
    return true, limit - used - take, window, 0, now
  end
  if grown ~= offset then
    call('ZADD', key, text(latest), string.sub(member, 1, NEWEST_SIZE) .. behind)
    call('ZREM', key, member)
    members[key], counted_for[key] = nil, nil
  else
    members[key], counted[key], counted_for[key] = member, used, window
  end
  return fits, max(0, limit - used), reset, retry, now
end
