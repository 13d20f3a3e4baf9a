-- Adds to many accounts: once for each operation id, each time without one.
-- KEYS: per item its account (hash). ARGV: per item id (may be empty), amount.
-- Reply: the new totals.
local totals = {}
for index, account in ipairs(KEYS) do
  local id, amount = ARGV[2 * index - 1], ARGV[2 * index]
  if id == '' or redis.call('HSETNX', account, 'id:' .. id, '1') == 1 then
    redis.call('HINCRBY', account, 'total', amount)
  end
  totals[index] = tonumber(redis.call('HGET', account, 'total'))
end
return totals
