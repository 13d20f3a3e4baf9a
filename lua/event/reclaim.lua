-- event.reclaim: one tick: queue time moves on, and claims whose lease has ended go back to the
-- head of the line, or are dead after the last attempt. Long after a tick has seen its end an event
-- is dropped but for its meta hash, so that it is not created again.
-- Uses: lib/store lib/entity meta taken attempts held wake
-- KEYS: meta applications line taken leases returned retry dead codes known_codes
-- ARGV: now, wake
--       (the channel of the issuers)
-- Reply: OK, given back, dead, more (1 or 0: another call would find more), 1 when this call
--        dropped the event, else 0; or NO_RULES
-- Codes: OK NO_RULES

local MOST = 100

if not load({ 'head', 'tail', 'over_at', 'is_dropped', 'grace_from', 'grace_until' }) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()
local over = ended_by()
if is_late() and now >= m.grace_until then
  m.grace_from, m.grace_until = m.tick, now + m.lease
  save({ 'grace_from', 'grace_until' })
end
-- What the clock leapt, back or ahead, becomes part of the offset: from here it runs on as before.
m.offset, m.tick = now - wall, now
save({ 'offset', 'last', 'tick' })

-- Counted from when a tick found it over, not from what the rules say of the past: with a mistake
-- in a date there is time to fix it.
local is_over = m.ends_at ~= 0 and now >= m.ends_at
if is_over ~= (m.over_at ~= 0) then
  m.over_at = is_over and now or 0
  save({ 'over_at' })
end
if is_over and m.is_dropped == 0 and now >= m.over_at + m.keep_ttl then
  call(
    'UNLINK', APPLICATIONS, LINE, TAKEN, LEASES, RETURNED, RETRY, DEAD, CODES, KNOWN_CODES
  )
  m.head, m.is_dropped = m.tail, 1
  save({ 'head', 'is_dropped' })
  return { OK, 0, 0, 0, 1 }
end

local ended = call('ZRANGEBYSCORE', LEASES, '-inf', over, 'LIMIT', 0, MOST)
if #ended == 0 then return { OK, 0, 0, 0, 0 } end
local back = {}
for i, packed in ipairs(call('HMGET', TAKEN, unpack(ended))) do
  if count_attempt(ended[i], packed, 'the lease ended') then back[#back + 1] = ended[i] end
end
call('ZREM', LEASES, unpack(ended))
if #back > 0 then
  call('ZADD', RETURNED, unpack(by_sequence(back)))
  wake()
end
return { OK, #back, #ended - #back, #ended == MOST and 1 or 0, 0 }
