-- The queue's codes, statuses, reasons and states, and its meta hash.
local ceil = math.ceil

-- codes: `Code` in services/core/src/queue/reply.rs mirrors them
local CREATED, NOT_READY, NOT_ACTIVE, FULL, CLOSED, IS_GONE = 2, 3, 4, 5, 6, 7
-- statuses; only in records: waiting, out of reach of the bitmaps; active, in a short session
-- (session.lua)
local S_WAITING, S_READY, S_ACTIVE, S_AWAY, S_FAR, S_SHORT = 1, 2, 3, 4, 5, 6
-- reasons of gone places
local COMPLETED, LEFT, UNCLAIMED, EXPIRED, ABANDONED, EVICTED, LOST, ENDED = 1, 2, 3, 4, 5, 6, 7, 8
-- states of the queue
local OPEN, PAUSED, SHUT, BYPASS = 1, 2, 3, 4
-- the pace; the other is all at once
local EVEN = 1

-- The rules as they are where a version wrote the others that did not know them: the defaults of
-- the configuration. As many as stand in rules.lua.
local KNOWN_RULES = 19
local function default_rules()
  return {
    state = OPEN, reason = '', capacity = 0, batch = 0, interval = 10000000, pace = 1,
    claim_ttl = 60000000, session_ttl = 300000000, session_max = 1800000000,
    unproven_ttl = 10000000, idle_ttl = 600000000, keep_ttl = 1800000000,
    first_poll_ttl = 60000000, max_waiting = 1000000, joins_at = 0, opens_at = 0, closes_at = 0,
    local_answers = 0, places_per_address = -1,
  }
end

-- Loads the rules in force and these further fields into `m`. False when the store holds no rules
-- for this queue.
local function load(fields)
  if not load_meta(fields) then return false end
  fill_rules(KNOWN_RULES, default_rules)
  return true
end

-- A counter of the meta hash, which most calls do not need.
local function counter(field)
  if not m[field] then m[field] = tonumber(call('HGET', META, field)) or 0 end
  return m[field]
end
