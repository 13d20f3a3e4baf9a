-- queue.authorize: may the visitor pass? Claims a ready place, renews an active one, and is the
-- heartbeat of a waiting one. A session that begins behind a join at the gateway is short until a
-- client shows its token.
-- Uses: lib/store lib/entity meta state gone_reasons joined_at held ring presence seen outcomes
--       shown outlook waits visit session
-- KEYS: meta waiting returned away ready active held gone:{0-1} marks seen:{0-4}
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua; how: 0, RENEWING or JOINED)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua; active: pass); or NO_RULES
-- Codes: OK IS_GONE NO_RULES

if not load_meta({}) then return { NO_RULES } end
read_clock()
local promotes -- looked up for the first place in line
-- A session is written at most every quarter of session_ttl: most passes only read.
local renews_before = now + m.session_ttl * 3 / 4

-- Few calls have a place in line.
local function load_line()
  local values = call('HMGET', META, unpack(LINE_FIELDS))
  for i, field in ipairs(LINE_FIELDS) do m[field] = tonumber(values[i]) or values[i] or nil end
  promotes = select(3, state_now())
end

each_visit(true, function(status, detail, id, ticket, since, short, how)
  if status == S_ACTIVE then
    local till = detail
    if short and how ~= JOINED or how == RENEWING and till <= renews_before then
      till = lengthen(id, ticket, since, till)
    end
    answer_admitted(OK, S_ACTIVE, till)
  elseif status == S_READY then
    answer_admitted(OK, S_ACTIVE, start_session(id, ticket, how == JOINED))
  else
    if promotes == nil then load_line() end
    answer_waiting(OK, id, ticket, heartbeat(status, detail, id, ticket))
  end
end)
keep_sessions()
keep_seen()
return reply_with_waits(promotes)
