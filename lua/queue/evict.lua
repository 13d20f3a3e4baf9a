-- queue.evict: removes a place by its ticket, whatever its status. A ready one's share of the
-- rate comes back like that of a turn given up.
-- Uses: lib/store lib/entity lib/changes meta withheld revoked departures gone_reasons addresses
--       end_place take_out held log inspected
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} revoked
--       departures joined_from per_address
-- ARGV: now, ticket, by
--       (the name of the operator's key, empty: no operator)
-- Reply: OK, status (0: no place has this ticket), and of a place its epoch and id; or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'ticket', 'heard', 'credit', 'credit_at', 'dropped', 'counted_upto' }) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()
local ticket = tonumber(ARGV[2])
local set, id = find(ticket)
if not set then return { OK, 0 } end

local status, reason = S_WAITING, EVICTED
if set == ADMITTED then
  local record = call('HGET', HELD, id)
  local detail, since
  status, detail, since = locate_held(ticket, record)
  if status == IS_GONE then
    -- It had ended before; this only sweeps it.
    status, reason, since = nil, detail, select(3, struct.unpack(RECORD, record))
  end
  if status == S_READY or reason == UNCLAIMED then
    read_log()
    give_back(since)
    write_log()
  end
  if status == S_ACTIVE then revoke({ id }, { ticket }) end
  call('ZREM', READY, id)
  call('ZREM', ACTIVE, id)
elseif set ~= AWAY then
  m.dropped = (m.dropped or 0) + 1
  depart({ ticket })
end
take_out(set, { id })
call('HDEL', HELD, id)
end_place(id, ticket, reason or EVICTED)
write_gone_reasons()
save({ 'last', 'credit', 'credit_at', 'dropped' })
-- The place had not ended before.
if status then
  local shown = (STATUSES)[set == AWAY and S_AWAY or status]
  log_change(
    CHANGES, ARGV[3], 'queue.evict', { 'status', shown }, { 'evicted', true }, ticket
  )
end
return { OK, status or 0, m.epoch, id }
