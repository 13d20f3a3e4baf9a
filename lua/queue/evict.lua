-- queue.evict: takes a place away by its ticket, wherever it stands. A ready one's share of the rate comes
-- back like that of a turn given up.
-- Uses: meta seen line pace ticket
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), ticket
-- Reply: OK, status (0: nobody holds it); or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'offset', 'last', 'tick', 'ticket', 'heard', 'keep_ttl', 'interval', 'credit', 'credit_at', 'dropped' }) then
  return { NO_RULES }
end
read_clock()
local ticket = tonumber(ARGV[2])
local set, id = find(ticket)
if not set then return { OK, 0 } end

local status, reason = S_WAITING, EVICTED
if set == ADMITTED then
  local detail
  status, detail = locate_admitted(id)
  if status == IS_GONE then
    status, reason = 0, detail -- it had ended before; this only sweeps it
  end
  if status == S_READY or reason == UNCLAIMED then
    read_log()
    give_back(tonumber(call('HGET', SINCE, id)))
    write_log()
  end
  call('ZREM', READY, id)
  call('ZREM', ACTIVE, id)
else
  m.dropped = (m.dropped or 0) + 1
end
call('ZREM', set, id)
call('HDEL', SINCE, id)
bury({ id }, { ticket }, reason)
save({ 'last', 'credit', 'credit_at', 'dropped' })
return { OK, status }
