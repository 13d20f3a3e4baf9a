-- Which active places ended before their time, and for how long slots are withheld because of it.
--
-- With the rule local_answers admission answers for the places that it knows as active by itself, while its
-- last reading of this list was sent less than 100 ms ago. So a slot that is freed before its time is
-- withheld a little longer than that. The version of the list is the score of its newest entries: queue time,
-- or one more than the version before. Who has read up to a version asks for what came after it, and is told
-- when some of that is forgotten.
local WITHHELD, REVOKED_KEPT, FORGET_MORE = 150000, 2000000, 64

-- Withholds every slot: what was freed is not counted one by one, or nobody knows for how long it has been.
local function withhold()
  m.withheld_until = now + WITHHELD
  call('HSET', META, 'withheld_until', m.withheld_until)
end

local function next_version()
  return math.max(now, (tonumber(call('HGET', META, 'revised')) or 0) + 1)
end

-- The rule was switched: what ended under the other one is not in the list, and nobody may build on it.
local function switch_local_answers()
  local version = next_version()
  call('HSET', META, 'revised', version, 'forgotten', version)
  withhold()
end

-- Drops entries that are too old to be asked for, at most so many.
local function forget_revoked(most)
  local old = call('ZRANGEBYSCORE', REVOKED, '-inf', now - REVOKED_KEPT, 'WITHSCORES', 'LIMIT', 0, most)
  if #old == 0 then return end
  local members = {}
  for i = 1, #old, 2 do members[#members + 1] = old[i] end
  call('ZREM', REVOKED, unpack(members))
  call('HSET', META, 'forgotten', old[#old])
end

-- Notes active places that end now, or sooner than was said.
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

-- Past this time without a tick nobody can tell a leap of the store's clock from a late scheduler. A leap ends
-- sessions at once in queue time, while admission judges their ends by the time of its last reading.
local TRUSTED = 250000
local function is_clock_trusted()
  return m.local_answers ~= 1 or now - m.tick <= TRUSTED
end

-- Once in each tick, before it moves the time of the tick on. A second such gap, before a tick in time could
-- give slots away, is a late scheduler, which must still get on.
local function watch_clock()
  local late = is_clock_trusted() and 0 or 1
  if late == 1 and m.late ~= 1 then withhold() end
  if late == 0 and now < (m.withheld_until or 0) then late = m.late or 0 end
  if late ~= (m.late or 0) then
    m.late = late
    save({ 'late' })
  end
end
