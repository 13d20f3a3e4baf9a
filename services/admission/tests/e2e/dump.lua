-- Everything that the store holds, as lines in a fixed order.
-- Reply: one text a member: key, type, member, value

local lines = {}

local function add(...)
  lines[#lines + 1] = table.concat({ ... }, ' ')
end

local read = {
  string = function(key) add(key, 'string', redis.call('GET', key)) end,
  hash = function(key)
    local flat = redis.call('HGETALL', key)
    for i = 1, #flat, 2 do add(key, 'hash', flat[i], flat[i + 1]) end
  end,
  zset = function(key)
    local flat = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #flat, 2 do add(key, 'zset', flat[i], flat[i + 1]) end
  end,
}

for _, key in ipairs(redis.call('KEYS', '*')) do
  read[redis.call('TYPE', key).ok](key)
end
table.sort(lines)
return lines
