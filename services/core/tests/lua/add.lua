-- Adds an amount once per operation id, and counts how often it ran.
-- KEYS: account (hash). ARGV: id, amount. Reply: {total, runs}.
local account = KEYS[1]
local id, amount = ARGV[1], ARGV[2]
local runs = redis.call('HINCRBY', account, 'runs', 1)
if redis.call('HSETNX', account, 'id:' .. id, '1') == 1 then
  redis.call('HINCRBY', account, 'total', amount)
end
return {tonumber(redis.call('HGET', account, 'total')), runs}
