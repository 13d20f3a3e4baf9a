-- The event's codes, states and rules, and its meta hash.

-- codes: `Code` in services/core/src/event/reply.rs mirrors them
local CREATED, SOLD_OUT, NOT_OPEN, FULL, UNKNOWN, LOST, LACKING, IS_DEAD = 2, 3, 4, 5, 6, 7, 8, 9
-- codes: `StockCode` in the same file mirrors them
local REPEATED, MISMATCH, TOO_LARGE = 10, 11, 12
-- states of an application
local S_PENDING, S_CLAIMED, S_ISSUED, S_SOLD_OUT, S_FAILED = 1, 2, 3, 4, 5
-- ways to issue
local BY_COUNT, BY_CODES, BY_WEBHOOK = 1, 2, 3

local KNOWN_RULES = 10
local function default_rules()
  return {
    stock = 0, over_apply = 1000000, opens_at = 0, ends_at = 0, issue = BY_COUNT, lease = 10000000,
    max_attempts = 5, max_per_second = 0, kick_interval = 1000000, keep_ttl = 2592000000000,
  }
end

-- Loads the rules in force and these further numbers into `m`, 0 where there is none. False when
-- the store holds no rules for this event.
local function load(fields)
  if not load_meta(fields) then return false end
  fill_rules(KNOWN_RULES, default_rules)
  for i = 1, #fields do m[fields[i]] = m[fields[i]] or 0 end
  return true
end
