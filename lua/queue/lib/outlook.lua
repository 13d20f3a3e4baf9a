-- The numbers from which core estimates the waits of places in line, besides their turns
-- (services/core/src/queue/outlook.rs). Needs state.lua, presence.lua, and the fields heard_at,
-- roll_left and outlook.

-- Returns 2 texts. First: queue time, the last tick, what is left of a check-in period, quarters of
-- the pace, the rules in force without the effect of health, and heard time. Second: the outlook of
-- the last tick. Returns nothing while no wait is known.
local function outlook_now(promotes)
  if not promotes or health() == BREAKER_HALF_OPEN then return end
  local batch, capacity = m.rule_batch or m.batch, m.rule_capacity or m.capacity
  local packed = struct.pack(CALL, now, m.tick, check_in_left(), quarters(), batch, capacity,
    m.interval, m.pace, m.heard or 0)
  return packed, m.outlook or ''
end
