-- event.retry_dead: a dead letter is tried again, first in line in its old order, with all its
-- attempts.
-- Uses: lib/store lib/entity meta records taken wake
-- KEYS: meta applications taken returned dead
-- ARGV: now, wake, digest
--       (the channel of the issuers; 14 bytes of a digest of the visitor)
-- Reply: OK, code (OK: it is tried again, or was before; UNKNOWN: it is no dead letter); or
--        NO_RULES
-- Codes: OK UNKNOWN NO_RULES

if not load({}) then return { NO_RULES } end
read_clock()
write_even_if_full()
local record = call('HGET', APPLICATIONS, ARGV[3])
local sequence = record and read('>I6', record)
local packed = sequence and call('HGET', TAKEN, sequence)
if not packed then return { OK, UNKNOWN } end
if call('ZREM', DEAD, sequence) == 1 then
  local fence, _, visitor_id = read_entry(packed)
  call('HSET', TAKEN, sequence, entry(fence, 0, visitor_id))
  call('ZADD', RETURNED, sequence, sequence)
  save({ 'last' })
  wake()
end
return { OK, OK }
