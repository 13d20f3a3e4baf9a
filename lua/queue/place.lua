-- queue.place: the status of visitors' places; also their heartbeat. Claims nothing.
-- Uses: lib/store lib/entity meta state gone_reasons joined_at held ring presence seen outcomes
--       shown outlook waits visit
-- KEYS: meta waiting returned away held gone:{0-1} marks seen:{0-4}
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua); or NO_RULES
-- Codes: OK IS_GONE NO_RULES

if not load_meta(LINE_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()

each_visit(false, function(status, detail, id, ticket)
  if status == S_WAITING or status == S_AWAY then
    answer_waiting(OK, id, ticket, heartbeat(status, detail, id, ticket))
  else
    answer_admitted(OK, status, detail)
  end
end)
keep_seen()
return reply_with_waits(promotes)
