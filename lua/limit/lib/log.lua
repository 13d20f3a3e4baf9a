-- The exact limit: every unit is a member of a sorted set, its score the limit time (µs) at which
-- it was taken. It counts while that is less than a window ago. Needs lib/store, lib/forward,
-- codes.
-- KEYS: the counter. ARGV: none. Reply: none; a part gives `log`.

-- A member: a running number, so that two of one microsecond are two and stand in their order,
-- and the window (s) for which the TTL was set. The newest has the offset of limit time behind
-- it, where that is not 0.
local MEMBER, MEMBER_SIZE = '>I5I3', 8

-- Units that are over are taken away with those that come, so the set never grows past the limit:
-- at least as many as come, more while this call has not taken away so many.
local EVICT_MOST, left_to_evict = 128, 512

local function log(key, limit, window, needed, take)
  local span = 1000 * window
  local newest = call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
  local member, latest = newest[1], tonumber(newest[2] or 0)
  local number, seconds, offset, stored, used = 0, 0, 0, 0, 0
  if member then
    number, seconds = struct.unpack(MEMBER, member)
    if #member > MEMBER_SIZE then offset = tonumber(string.sub(member, MEMBER_SIZE + 1)) end
  end
  local now, grown = forward(offset, latest)
  local behind = grown ~= 0 and text(grown) or ''
  if latest > now - span then
    used = call('ZCOUNT', key, '(' .. text(now - span), '+inf')
  end
  local fits = used + needed <= limit
  if member and (not fits or take > 0) then stored = call('ZCARD', key) end
  local reset, retry = max(0, ceil((latest + span - now) / 1000)), 0
  if not fits then
    -- When so many of the oldest are over, there is room.
    local last = text(stored - used + (used + needed - limit) - 1)
    local oldest = call('ZRANGE', key, last, last, 'WITHSCORES')
    retry = ceil((oldest[2] + span - now) / 1000)
  elseif take > 0 then
    local added, at = {}, text(now)
    for i = 1, take do
      added[2 * i - 1] = at
      added[2 * i] = struct.pack(MEMBER, number + i, window / 1000)
    end
    added[2 * take] = added[2 * take] .. behind
    call('ZADD', key, unpack(added))
    used, reset = used + take, window
    local over = min(stored - (used - take), max(take, min(EVICT_MOST, left_to_evict)))
    if over > 0 then
      call('ZREMRANGEBYRANK', key, '0', text(over - 1))
      left_to_evict = left_to_evict - over
    end
    if not ttl_does(latest, seconds, now, window) then
      call('PEXPIRE', key, text(4 * window))
    end
    return true, limit - used, reset, 0, now
  end
  if grown ~= offset then
    call('ZADD', key, text(latest), string.sub(member, 1, MEMBER_SIZE) .. behind)
    call('ZREM', key, member)
  end
  return fits, max(0, limit - used), reset, retry, now
end
