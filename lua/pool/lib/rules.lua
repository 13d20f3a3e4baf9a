-- The rules of a pool. Needs lib/entity.lua.
-- KEYS: none. ARGV: none. Reply: none; a part gives `option_amount`.
local DAY = 86400000000

-- The most that an option pays; nil when there is no such one.
local function option_amount(name)
  local _, last = string.find(',' .. m.options, ',' .. name .. '=', 1, true)
  return last and tonumber(string.match(m.options, '^%d+', last))
end
