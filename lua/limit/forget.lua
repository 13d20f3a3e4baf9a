-- limit.forget: forgets what a key has taken, whatever the algorithm.
-- Uses: lib/store lib/changes
-- KEYS: (key)*
--       (the log of the shard's changes, then the counters)
-- ARGV: now, shard, by
--       (the number of the shard; the name of the operator's key, empty: no operator)
-- Reply: OK, how many counters there were
-- Codes: OK

local gone = 0
for i = 2, #KEYS do gone = gone + call('UNLINK', KEYS[i]) end
-- The entry does not name the key of the limit: it may identify a person.
if gone > 0 and ARGV[3] ~= '' then
  read_wall()
  local packed = pack_change(ARGV[3], 'limit.forget', 0, { 'found', true }, {})
  log_packed(KEYS[1], tonumber(ARGV[2]), packed)
end
return { OK, gone }
