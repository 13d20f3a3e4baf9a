-- Writing rules over the newest of both parts. Needs lib/rule_parts.lua, rules.lua and
-- create_empty.lua.
--
-- ARGV goes on, behind the file, with the newest overrides that the caller has seen, as their
-- revision and packed part (0 and empty: none).
local over

local function read_parts()
  read_file()
  over = read_part('over', ARGV[5], ARGV[6])
  if not over.revision then over.revision, over.packed = 0, cmsgpack.pack({}) end
end

-- Writes both parts where the store holds older ones; the reply.
local function write_parts()
  local changed = is_newer(file) or is_newer(over)
  if changed then
    give_epoch()
    if not is_known then
      create_empty()
      call('HSET', META, 'totals_of', ARGV[2])
    end
    write_part(file)
    write_part(over)
    settle_rules()
  end
  return { OK, changed and 1 or 0, file.revision, file.packed, over.revision, over.packed }
end
