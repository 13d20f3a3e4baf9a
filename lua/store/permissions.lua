-- store.permissions: which of the commands that the scripts use the store's user may not run. Run
-- at every connect, so that no operation fails in its middle. Leaves nothing behind.
-- KEYS: a key of ours that holds nothing; without one it only shows that scripts run
-- ARGV: none
-- Reply: what is refused, as an ACL rule writes it

local key = KEYS[1]
local refused = {}
if not key then return refused end

-- Each version words a refusal in its own way. These words mean something else: the command would
-- run at another time.
local PASSING = { 'OOM', 'MISCONF', 'READONLY', 'NOREPLICAS', 'WRONGTYPE' }

-- A refusal of our channels is not one of the command.
local CHANNELS = '&anteroom:*'

local function may(name, ...)
  local reply = redis.pcall(name, ...)
  local problem = type(reply) == 'table' and reply.err
  if not problem then return true end
  for _, word in ipairs(PASSING) do
    if problem:find(word, 1, true) then return true end
  end
  refused[#refused + 1] = problem:find('channel', 1, true) and CHANNELS or '+' .. name:lower()
  return false
end

may('TIME')
may('PUBLISH', key, '')
may('ZADD', key, 'XX', 1, 'a')
may('ZCARD', key)
may('ZCOUNT', key, 1, 2)
may('ZMSCORE', key, 'a')
may('ZRANGE', key, 0, 1)
may('ZRANGEBYSCORE', key, 1, 2)
may('ZRANK', key, 'a')
may('ZREM', key, 'a')
may('ZREMRANGEBYRANK', key, 0, 1)
may('ZREVRANGEBYSCORE', key, 2, 1)
may('ZSCORE', key, 'a')
may('BITFIELD', key, 'GET', 'u1', 0)
may('BITOP', 'OR', key, key)
may('EXISTS', key)
may('GET', key)
may('GETRANGE', key, 0, 1)
may('HGET', key, 'a')
may('HLEN', key)
may('HMGET', key, 'a')
may('LLEN', key)
may('LPOP', key, 1)
may('MGET', key)
may('PEXPIRE', key, 1)
may('SET', key, 'a', 'XX')
may('XADD', key, 'NOMKSTREAM', '*', 'a', 1)
may('XRANGE', key, '-', '+', 'COUNT', 1)
may('XTRIM', key, 'MAXLEN', 0)
may('SETRANGE', key, 0, '')
may('SMISMEMBER', key, 'a')
local deletes = may('HDEL', key, 'a')
local unlinks = may('UNLINK', key)
-- Those that make the key: only where it can be taken away again.
if unlinks then
  may('RPUSH', key, 'a')
  redis.pcall('UNLINK', key)
  may('SADD', key, 'a')
  redis.pcall('UNLINK', key)
end
if deletes or unlinks then
  may('HSET', key, 'a', 1)
  may('HINCRBY', key, 'a', 1)
  if deletes then
    redis.pcall('HDEL', key, 'a')
  else
    redis.pcall('UNLINK', key)
  end
end
return refused
