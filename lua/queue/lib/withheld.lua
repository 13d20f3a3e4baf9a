-- For how long slots are withheld that were freed before their time.
--
-- With the rule local_answers admission answers for the places that it knows as active by itself,
-- while its last reading of `revoked` was sent less than 100 ms ago. So a slot that is freed before
-- its time is withheld a little longer than that.
local WITHHELD = 150000

-- Withholds every slot: what was freed is not counted one by one, or it is unknown since when it is
-- free.
local function withhold()
  m.withheld_until = now + WITHHELD
  call('HSET', META, 'withheld_until', m.withheld_until)
end

-- The version of `revoked` is the score of its newest entries: queue time, or one more than the
-- version before.
local function next_version()
  return math.max(now, (tonumber(call('HGET', META, 'revised')) or 0) + 1)
end

-- The rule was switched: what ended under the other one is not in the list, so no process may rely
-- on an older version of it.
local function switch_local_answers()
  local version = next_version()
  call('HSET', META, 'revised', version, 'forgotten', version)
  withhold()
end

-- Past this time without a tick a leap of the store's clock looks like a late scheduler.
-- A leap ends sessions at once in queue time, while admission judges their ends by the time of its
-- last reading.
local TRUSTED = 250000
local function is_clock_trusted()
  return m.local_answers ~= 1 or now - m.tick <= TRUSTED
end
