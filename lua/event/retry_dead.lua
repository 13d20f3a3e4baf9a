-- event.retry_dead: dead letters are tried again, first in line in their old order, with all their
-- attempts.
-- Uses: lib/store lib/entity lib/changes meta records taken wake
-- KEYS: meta changes applications taken returned dead
-- ARGV: now, wake, by, (digest)*
--       (the channel of the issuers; the name of the operator's key, empty: no operator;
--       14 bytes for each visitor)
-- Reply: OK, how many of them are tried again, or were before; how many dead letters are left; or
--        NO_RULES
-- Codes: OK NO_RULES

if not load({}) then return { NO_RULES } end
read_clock()
write_even_if_full()
local sequences = {}
for _, record in ipairs(call('HMGET', APPLICATIONS, unpack(ARGV, 4))) do
  if record then sequences[#sequences + 1] = read('>I6', record) end
end
if #sequences == 0 then return { OK, 0, call('ZCARD', DEAD) } end

local died = call('ZMSCORE', DEAD, unpack(sequences))
local again, raised, entries = 0, {}, {}
for i, packed in ipairs(call('HMGET', TAKEN, unpack(sequences))) do
  if packed then again = again + 1 end
  if packed and died[i] then
    local fence, _, visitor_id = read_entry(packed)
    local n = #raised + 1
    raised[n] = sequences[i]
    entries[2 * n - 1], entries[2 * n] = sequences[i], entry(fence, 0, visitor_id)
  end
end
if #raised > 0 then
  call('ZREM', DEAD, unpack(raised))
  call('HSET', TAKEN, unpack(entries))
  call('ZADD', RETURNED, unpack(by_sequence(raised)))
  save({ 'last' })
  wake()
end
local left = call('ZCARD', DEAD)
if #raised > 0 then
  local before, after = { 'dead', left + #raised }, { 'retried', #raised, 'dead', left }
  log_change(CHANGES, ARGV[3], 'event.retry_dead', before, after)
end
return { OK, again, left }
