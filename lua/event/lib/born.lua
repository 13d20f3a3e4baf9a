-- The birth of an event: its first rules give it the stock that they name, once. Needs
-- lib/file_rules.lua.
-- KEYS: meta. ARGV: none. Reply: none; a part gives `give_first_stock`.

local function give_first_stock()
  if is_known then return end
  call('HSET', META, 'given', string.format('%.0f', m.stock))
end
