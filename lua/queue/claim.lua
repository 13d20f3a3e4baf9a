-- queue.claim: takes the turn: ready becomes active. An active place stays as it is, but a short
-- session gets its whole time.
-- Uses: lib/store lib/entity meta state gone_reasons joined_at held ring presence seen outcomes
--       shown outlook waits visit session
-- KEYS: meta waiting returned away ready active held gone:{0-1} marks seen:{0-4}
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua); or NO_RULES
-- Codes: OK NOT_READY IS_GONE NO_RULES

if not load_meta(LINE_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()

each_visit(true, function(status, detail, id, ticket, since, short)
  if status == S_ACTIVE then
    answer_admitted(OK, S_ACTIVE, short and lengthen(id, ticket, since, detail) or detail)
  elseif status == S_READY then
    answer_admitted(OK, S_ACTIVE, start_session(id, ticket))
  else
    answer_waiting(NOT_READY, id, ticket, heartbeat(status, detail, id, ticket))
  end
end)
keep_sessions()
keep_seen()
return reply_with_waits(promotes)
