-- What calls share that bring no outcome. Needs state.lua.
-- KEYS: meta, buckets, successes, failures. ARGV: none. Reply: none; a part gives `save_changes`.

-- Writes what has changed. That their rules are in use is no reason to refuse them where Redis is
-- full.
local function save_changes()
  if is_changed then forget_left() end
  if not (is_changed or is_joined) or not save(not is_changed) then return end
  if not is_changed then forget_left() end
  if begins_log then log.forget() end
  if is_joined then
    for _, key in ipairs({ META, BUCKETS, SUCCESSES, FAILURES }) do expire(key) end
  end
end
