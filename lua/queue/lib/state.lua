-- The state by the stored state and the opening times, and whether places are taken in and
-- promoted.
local function state_now()
  local state = m.state
  local takes = state ~= SHUT and wall >= m.joins_at and (m.closes_at == 0 or wall < m.closes_at)
  local promotes = state ~= PAUSED and wall >= m.opens_at
  if state == OPEN then
    if not takes then state = SHUT elseif not promotes then state = PAUSED end
  end
  return state, takes, promotes
end
