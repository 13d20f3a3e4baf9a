-- queue.renew: an active place lives until min(now + session_ttl, claimed + session_max).
-- Uses: lib/store lib/entity meta state withheld revoked gone_reasons joined_at held ring presence
--       seen outcomes shown outlook waits visit session
-- KEYS: meta waiting returned away ready active held gone:{0-1} marks seen:{0-4} revoked
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua); or NO_RULES
-- Codes: OK NOT_ACTIVE IS_GONE NO_RULES

if not load_meta(LINE_FIELDS) then return { NO_RULES } end
read_clock()
local _, _, promotes = state_now()

each_visit(true, function(status, detail, id, ticket, since)
  if status == S_ACTIVE then
    -- A session longer than a session_max that was lowered meanwhile is not cut to nothing.
    local till = renewed(since)
    if till > now then
      set_session(id, ticket, since, till)
      -- Rules that were lowered meanwhile cut it: the end that was returned before is void.
      if till < detail then revoke({ id }, { ticket }) end
    else
      till = detail
    end
    answer_admitted(OK, S_ACTIVE, till)
  elseif status == S_READY then
    answer_admitted(NOT_ACTIVE, S_READY, detail)
  else
    answer_waiting(NOT_ACTIVE, id, ticket, heartbeat(status, detail, id, ticket))
  end
end)
keep_sessions()
keep_seen()
return reply_with_waits(promotes)
