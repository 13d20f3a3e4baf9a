-- queue.leave: gives up a place in line or a turn, or finishes a session. The slot is free at once; with
-- local_answers, that of a session a moment later.
-- Uses: meta revoked line seen eta pace visit
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), then runs of items (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/visit.lua): OK with the reason as status when the place has left
--        now, IS_GONE when it was gone before; or NO_RULES
-- Codes: OK IS_GONE NO_RULES

if not load({ 'ticket', 'heard', 'credit', 'credit_at', 'dropped' }) then return { NO_RULES } end
read_clock()
write_even_if_full()

local gave_back = false
local ended, tickets = {}, {}
each_visit(true, function(status, detail, id, ticket, since)
  local reason = LEFT
  changed[id] = true
  if status == S_ACTIVE or status == S_READY then
    call('ZREM', ADMITTED, id)
    call('ZREM', status == S_ACTIVE and ACTIVE or READY, id)
    if status == S_ACTIVE then
      reason = COMPLETED
      ended[#ended + 1], tickets[#tickets + 1] = id, ticket
    else
      if not gave_back then read_log() end
      give_back(since)
      gave_back = true
    end
  else
    call('ZREM', detail, id)
    m.dropped = (m.dropped or 0) + 1
  end
  call('HDEL', HELD, id)
  bury({ id }, { ticket }, reason)
  answer(OK, reason, 0)
end)
revoke(ended, tickets)
if gave_back then write_log() end
save({ 'last', 'credit', 'credit_at', 'dropped' })
return reply()
