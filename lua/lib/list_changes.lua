-- Reading the log of what operators change. Needs lib/changes.lua's entries, not its code.
-- KEYS: the log; a script names it. ARGV: now, by store.lua; the id below which it begins (empty:
-- the newest), how many entries at most. Reply: OK, the entries, newest first.

local function list_changes(log)
  local from = ARGV[2] == '' and '+inf' or '(' .. ARGV[2]
  return { OK, unpack(call('ZREVRANGEBYSCORE', log, from, '-inf', 'LIMIT', 0, ARGV[3])) }
end
