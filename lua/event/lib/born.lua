-- The birth of an event: its first rules give it the stock that they name, once; its first
-- application settles how its units are issued. Needs lib/file_rules.lua.
-- KEYS: meta. ARGV: none. Reply: none; a part gives `fixed_rules`, `give_first_stock`.

-- Whoever waits for a code, or for what a receiver gives, is not to be counted as issued instead.
local function fixed_rules()
  local tail = is_known and call('HGET', META, 'tail')
  return tail and tail ~= '0' and { issue = m.issue } or {}
end

local function give_first_stock()
  if is_known then return end
  call('HSET', META, 'given', string.format('%.0f', m.stock))
end
