-- queue.place: where visitors' places stand; also their heartbeat. Claims nothing.
-- Uses: meta state line seen eta visit
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), then runs of items (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/visit.lua); or NO_RULES
-- Codes: OK IS_GONE NO_RULES

if not load(VISIT_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()

each_visit(false, function(status, detail, id, ticket)
  if status == S_WAITING or status == S_AWAY then
    answer_waiting(OK, id, ticket, heartbeat(status, detail, id, ticket), promotes)
  else
    answer_admitted(OK, status, detail)
  end
end)
keep_seen()
return reply()
