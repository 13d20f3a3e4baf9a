-- event.dead: dead letters in the order of the applications. Writes nothing.
-- Uses: lib/store lib/entity meta taken
-- KEYS: meta taken dead
-- ARGV: now, after, most
--       (the sequence behind which to begin)
-- Reply: OK, then for each its sequence, attempts, when it died (s), visitor_id and cause; or
--        NO_RULES
-- Codes: OK NO_RULES

if not load({}) then return { NO_RULES } end
local sequences = call('ZRANGEBYSCORE', DEAD, '(' .. ARGV[2], '+inf', 'LIMIT', 0, ARGV[3])
local reply = { OK }
if #sequences == 0 then return reply end
for i, packed in ipairs(call('HMGET', TAKEN, unpack(sequences))) do
  local _, attempts, visitor_id, rest = read_entry(packed)
  local died, cause = struct.unpack('>d', packed, rest)
  local k = #reply
  reply[k + 1], reply[k + 2], reply[k + 3] = tonumber(sequences[i]), attempts, died
  reply[k + 4], reply[k + 5] = visitor_id, string.sub(packed, cause)
end
return reply
