-- event.reclaim: one tick: queue time moves on, and claims whose lease has ended go back to the
-- head of the line, or are dead after the last attempt. Long after its end an event is dropped but
-- for its meta hash, so that it is not born again.
-- Uses: lib/store lib/entity meta taken attempts wake
-- KEYS: meta applications line taken leases returned retry dead codes known_codes
-- ARGV: now, wake
--       (the channel of the issuers)
-- Reply: OK, given back, dead, more (1 or 0: another call would find more); or NO_RULES
-- Codes: OK NO_RULES

local MOST = 100

if not load({ 'head', 'tail' }) then return { NO_RULES } end
read_clock()
write_even_if_full()
-- What the clock leapt, back or ahead, becomes part of the offset: from here it runs on as before.
m.offset, m.tick = now - wall, now
save({ 'offset', 'last', 'tick' })

if m.ends_at ~= 0 and now >= m.ends_at + m.keep_ttl then
  call(
    'UNLINK', APPLICATIONS, LINE, TAKEN, LEASES, RETURNED, RETRY, DEAD, CODES, KNOWN_CODES
  )
  m.head = m.tail
  save({ 'head' })
  return { OK, 0, 0, 0 }
end

local ended = call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, MOST)
if #ended == 0 then return { OK, 0, 0, 0 } end
local back = {}
for i, packed in ipairs(call('HMGET', TAKEN, unpack(ended))) do
  if count_attempt(ended[i], packed, 'the lease ended') then back[#back + 1] = ended[i] end
end
call('ZREM', LEASES, unpack(ended))
if #back > 0 then
  call('ZADD', RETURNED, unpack(by_sequence(back)))
  wake()
end
return { OK, #back, #ended - #back, #ended == MOST and 1 or 0 }
