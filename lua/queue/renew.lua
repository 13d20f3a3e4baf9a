-- queue.renew: an active place lives until min(now + session_ttl, claimed + session_max).
-- Uses: meta state revoked line seen eta session visit
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), then runs of items (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/visit.lua); or NO_RULES
-- Codes: OK NOT_ACTIVE IS_GONE NO_RULES

if not load(VISIT_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()

each_visit(true, function(status, detail, id, ticket, since)
  if status == S_ACTIVE then
    -- A session longer than a session_max that was lowered meanwhile is not cut to nothing.
    local till = renewed(since)
    if till > now then
      set_session(id, ticket, since, till)
      -- Rules that were lowered meanwhile cut it: nobody may go by the end that was told before.
      if till < detail then revoke({ id }, { ticket }) end
    else
      till = detail
    end
    answer_admitted(OK, S_ACTIVE, till)
  elseif status == S_READY then
    answer_admitted(NOT_ACTIVE, S_READY, detail)
  else
    answer_waiting(NOT_ACTIVE, id, ticket, heartbeat(status, detail, id, ticket), promotes)
  end
end)
keep_sessions()
keep_seen()
return reply()
