-- Which active places ended before their time. Needs withheld.lua.
--
-- A process that has read the list up to a version requests what came after it. The reply shows
-- when some of that is forgotten.
local REVOKED_KEPT, FORGET_MORE = 2000000, 64

-- Drops entries that are too old to be requested, at most so many.
local function forget_revoked(most)
  local upto = now - REVOKED_KEPT
  local old = call('ZRANGEBYSCORE', REVOKED, '-inf', upto, 'WITHSCORES', 'LIMIT', 0, most)
  if #old == 0 then return end
  local members = {}
  for i = 1, #old, 2 do members[#members + 1] = old[i] end
  call('ZREM', REVOKED, unpack(members))
  call('HSET', META, 'forgotten', old[#old])
end

-- Lists active places that end now, or sooner than was returned before.
local function revoke(ids, tickets)
  if m.local_answers ~= 1 or #ids == 0 then return end
  write_even_if_full()
  local version, flat = next_version(), {}
  for i, id in ipairs(ids) do
    flat[2 * i - 1], flat[2 * i] = version, id .. struct.pack('>I8', tickets[i])
  end
  call('ZADD', REVOKED, unpack(flat))
  call('HSET', META, 'revised', version)
  forget_revoked(#ids + FORGET_MORE)
end
