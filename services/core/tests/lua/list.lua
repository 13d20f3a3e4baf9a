-- Appends every ARGV to the list, in order. Reply: for each the length after it, or -1 for "bad".
local list, replies = KEYS[1], {}
for index, item in ipairs(ARGV) do
  replies[index] = item == 'bad' and -1 or redis.call('RPUSH', list, item)
end
return replies
