-- The rules of a pool, and its codes. Needs lib/entity.lua.
-- KEYS: none. ARGV: now, by store.lua. Reply: none; a part names all of it.

-- codes: `Code` in services/core/src/pool/reply.rs mirrors them
local REPEATED, MISMATCH, TOO_LARGE, NO_COVER, AGAIN, UNCONFIRMED, FULL = 2, 3, 4, 5, 6, 7, 8
-- codes: `OtherCode` there
local NO_OPTION, NO_HOLD, IS_SETTLED, IS_CANCELLED, IS_EXPIRED, EXCEEDS = 9, 10, 11, 12, 13, 14
-- `on_failover`
local CONTINUE, HOLD = 1, 2

local MAX_AMOUNT = 9007199254740991
local DAY = 86400000000

-- The rules as they are where a version wrote the others that did not know them: the defaults of
-- the configuration.
local KNOWN_RULES = 5
local function default_rules()
  return {
    funds = 0, hold_ttl = 60000000, on_failover = CONTINUE, ledger_keep = 2592000000000,
    options = '',
  }
end

-- The most that an option pays; nil when there is no such one.
local function option_amount(name)
  local _, last = string.find(',' .. m.options, ',' .. name .. '=', 1, true)
  return last and tonumber(string.match(m.options, '^%d+', last))
end
