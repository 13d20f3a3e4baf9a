-- limit.forget: forgets what a key has taken, whatever the algorithm.
-- Uses: lib/store
-- KEYS: (counter)*
-- ARGV: now
-- Reply: OK, how many counters there were
-- Codes: OK

local gone = 0
for i = 1, #KEYS do gone = gone + call('UNLINK', KEYS[i]) end
return { OK, gone }
