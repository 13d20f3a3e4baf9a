-- Whether the store has memory left. Needs lib/entity.lua.
-- KEYS: meta. ARGV: none. Reply: none; a part gives `has_memory`.

-- To be called before the first write: from then on nothing is refused.
local function has_memory()
  local tried = redis.pcall('HSET', META, 'epoch', m.epoch)
  if type(tried) == 'number' then
    may_write = true
    return true
  end
  write_even_if_full()
  return not string.find(tried.err, 'OOM', 1, true)
end
