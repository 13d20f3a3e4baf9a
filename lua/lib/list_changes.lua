-- Reads the log of what operators change. It needs the entries of lib/changes.lua, not its code.
-- KEYS: the log; a script names it. ARGV: now, by store.lua; only entries with smaller ids (empty:
-- all), how many entries at most. Reply: OK, the entries, newest first.

local function list_changes(log)
  local from = ARGV[2] == '' and '+inf' or '(' .. ARGV[2]
  return { OK, unpack(call('ZREVRANGEBYSCORE', log, from, '-inf', 'LIMIT', 0, ARGV[3])) }
end
