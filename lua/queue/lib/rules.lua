-- The rules in force: the file's, with each override until its own end.
-- Needs state, joins_at, opens_at, closes_at where the two questions below are asked.
local RULES = {
  'state', 'reason', 'capacity', 'batch', 'interval', 'pace', 'claim_ttl', 'session_ttl', 'session_max',
  'idle_ttl', 'keep_ttl', 'first_poll_ttl', 'max_waiting', 'joins_at', 'opens_at', 'closes_at',
}

-- Works out the rules in force by the store's clock and when they change next; writes both.
local function settle_rules()
  local ask = {}
  for i, rule in ipairs(RULES) do
    ask[3 * i - 2], ask[3 * i - 1], ask[3 * i] = 'file:' .. rule, 'over:' .. rule, 'until:' .. rule
  end
  local stored = call('HMGET', META, unpack(ask))
  local set, ended, change = {}, {}, 0
  for i, rule in ipairs(RULES) do
    local value, over, till = stored[3 * i - 2] or '', stored[3 * i - 1], tonumber(stored[3 * i]) or 0
    if over and till ~= 0 and till <= wall then
      ended[#ended + 1], ended[#ended + 2] = 'over:' .. rule, 'until:' .. rule
    elseif over then
      value = over
      if till ~= 0 and (change == 0 or till < change) then change = till end
    end
    set[2 * i - 1], set[2 * i] = rule, value
    m[rule] = tonumber(value) or value
  end
  m.next_change = change
  if #ended > 0 then call('HDEL', META, unpack(ended)) end
  call('HSET', META, 'next_change', change, unpack(set))
end

-- Applies the end of an override that has come since the last call. Needs next_change.
local function refresh_rules()
  if m.next_change and m.next_change ~= 0 and wall >= m.next_change then settle_rules() end
end

-- The state by the stored state and the opening times, and whether places are taken in and promoted.
local function state_now()
  local state = m.state
  local takes = state ~= SHUT and wall >= m.joins_at and (m.closes_at == 0 or wall < m.closes_at)
  local promotes = state ~= PAUSED and wall >= m.opens_at
  if state == OPEN then
    if not takes then state = SHUT elseif not promotes then state = PAUSED end
  end
  return state, takes, promotes
end
