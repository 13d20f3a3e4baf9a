-- queue.leave: gives up a place in line or a turn, or finishes a session. The slot is free at once;
-- with local_answers, that of a session a moment later.
-- Uses: lib/store lib/entity meta withheld revoked departures gone_reasons addresses end_place
--       take_out joined_at held log outcomes visit
-- KEYS: meta waiting returned away ready active admitted held gone:{0-1} marks revoked departures
--       joined_from per_address
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua): OK with the reason as status when the place has
--        left now, IS_GONE when it was gone before; or NO_RULES
-- Codes: OK IS_GONE NO_RULES

if not load_meta({ 'ticket', 'heard', 'credit', 'credit_at', 'dropped', 'counted_upto' }) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()

local leaving = {}
for _, set in ipairs({ WAITING, RETURNED, AWAY, READY, ACTIVE, ADMITTED }) do leaving[set] = {} end
local left, ended, tickets, departing = {}, {}, {}, {}
each_visit(true, function(status, detail, id, ticket, since)
  local set, reason = detail, LEFT
  if status == S_ACTIVE then
    set, reason = ACTIVE, COMPLETED
    ended[#ended + 1], tickets[#tickets + 1] = id, ticket
  elseif status == S_READY then
    set = READY
    if not log then read_log() end
    give_back(since)
  elseif set ~= AWAY then
    -- Who is away had dropped out of the line before.
    m.dropped = (m.dropped or 0) + 1
    departing[#departing + 1] = ticket
  end
  table.insert(leaving[set], id)
  if set == READY or set == ACTIVE then table.insert(leaving[ADMITTED], id) end
  left[#left + 1], changed[id] = id, false
  end_place(id, ticket, reason)
  answer(OK, reason, 0)
end)
for set, ids in pairs(leaving) do take_out(set, ids) end
if #left > 0 then call('HDEL', HELD, unpack(left)) end
write_gone_reasons()
revoke(ended, tickets)
depart(departing)
if log then write_log() end
save({ 'last', 'credit', 'credit_at', 'dropped' })
return reply()
