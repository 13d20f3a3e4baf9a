-- The request of a caller: an amount or an option, under a name. Needs sums.lua.
-- KEYS: meta. ARGV: now, by store.lua; of each item the fingerprint (8 bytes), the amount
-- (8: a double), the length and the name of the option, whose amount counts then, and the name of
-- the call. Reply: none; a part gives `read_request`.

local function read_request(item)
  local fingerprint, amount, option, rest = struct.unpack('>c8dBc0', item)
  if option ~= '' then amount = option_amount(option) end
  return fingerprint, amount, string.sub(item, rest)
end

-- Why an amount cannot be had; nil when it can. Where ended holds are left, they are taken back
-- first: the caller asks again.
local function refusal(amount, more)
  if not amount then return NO_OPTION end
  if amount > m.balance then return more and AGAIN or NO_COVER end
  return nil
end
