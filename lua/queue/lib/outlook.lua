-- What the expected waits of places in line follow from, besides their turns: core works them out
-- (services/core/src/queue/outlook.rs). Needs state.lua, presence.lua, heard_at, roll_left and
-- outlook.

-- Queue time, the last tick, what is left of a check-in period, quarters of the pace, the rules in
-- force whatever the health is, and heard time; then the outlook of the last tick. Nothing while no
-- wait is known.
local function outlook_now(promotes)
  if not promotes or health() == BREAKER_HALF_OPEN then return end
  local batch, capacity = m.rule_batch or m.batch, m.rule_capacity or m.capacity
  local packed = struct.pack(CALL, now, m.tick, check_in_left(), quarters(), batch, capacity,
    m.interval, m.pace, m.heard or 0)
  return packed, m.outlook or ''
end
