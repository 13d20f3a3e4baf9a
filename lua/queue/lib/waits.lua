-- What the expected waits of places in line follow from, behind their turns: core works them out
-- (services/core/src/queue/outlook.rs). Needs state.lua, presence.lua, outcomes.lua, and
-- LINE_FIELDS (shown.lua).

-- The reply of a call that may answer places in line. Behind the outcomes: queue time, the last
-- tick, what is left of a check-in period, quarters of the pace, the rules in force whatever the
-- health is, and heard time; then the outlook of the last tick. Neither while no wait is known.
local function reply_with_waits(promotes)
  local answer = reply()
  if not promotes or health() == BREAKER_HALF_OPEN then return answer end
  answer[4] = struct.pack(CALL, now, m.tick, check_in_left(), quarters(), m.rule_batch or m.batch,
    m.rule_capacity or m.capacity, m.interval, m.pace, m.heard or 0)
  answer[5] = m.outlook or ''
  return answer
end
