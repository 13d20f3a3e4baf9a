-- queue.renew: an active place lives until min(now + session_ttl, claimed + session_max).
-- Uses: meta rules seen line eta session visit
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), then per item: epoch, place id, ticket
-- Reply: OK, epoch, then per item the seven integers of lib/visit.lua; or NO_RULES
-- Codes: OK NOT_ACTIVE IS_GONE NO_RULES

if not load({
  'offset', 'last', 'tick', 'state', 'joins_at', 'opens_at', 'closes_at', 'keep_ttl', 'session_ttl',
  'session_max', 'rate', 'rate_slow', 'drop', 'batch', 'interval', unpack(SEEN_FIELDS),
}) then
  return { NO_RULES }
end
read_clock()
local _, _, promotes = state_now()

out[1], out[2] = OK, m.epoch
each_visit(3, ADMITTED, function(status, detail, id, ticket)
  if status == S_ACTIVE then
    answer_admitted(OK, S_ACTIVE, ticket, extend(id, renewed(id)))
  elseif status == S_READY then
    answer_admitted(NOT_ACTIVE, S_READY, ticket, detail)
  else
    answer_waiting(NOT_ACTIVE, id, ticket, heartbeat(status, detail, id, ticket), promotes)
  end
end)
keep_seen()
return out
