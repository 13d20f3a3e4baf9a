-- The rules in force: the file's, with each override until its own end. Packed in the meta hash as
-- `force`, together with the time of the next change. Needs lib/revoked.lua.
local RULES = {
  'state', 'reason', 'capacity', 'batch', 'interval', 'pace', 'claim_ttl', 'session_ttl', 'session_max',
  'idle_ttl', 'keep_ttl', 'first_poll_ttl', 'max_waiting', 'joins_at', 'opens_at', 'closes_at',
  'local_answers',
}

-- Works out the rules in force by the store's clock and when they change next; writes both.
local function settle_rules()
  write_even_if_full()
  local ask, answered = {}, m.local_answers or 0
  for i, rule in ipairs(RULES) do
    ask[3 * i - 2], ask[3 * i - 1], ask[3 * i] = 'file:' .. rule, 'over:' .. rule, 'until:' .. rule
  end
  local stored = call('HMGET', META, unpack(ask))
  local force, ended = { next_change = 0 }, {}
  for i, rule in ipairs(RULES) do
    local value, over, till = stored[3 * i - 2] or '', stored[3 * i - 1], tonumber(stored[3 * i]) or 0
    if over and till ~= 0 and till <= wall then
      ended[#ended + 1], ended[#ended + 2] = 'over:' .. rule, 'until:' .. rule
    elseif over then
      value = over
      if till ~= 0 and (force.next_change == 0 or till < force.next_change) then force.next_change = till end
    end
    -- A rule that an older version did not know is not in force.
    force[rule] = rule == 'reason' and value or tonumber(value) or 0
    m[rule] = force[rule]
  end
  m.next_change = force.next_change
  if #ended > 0 then call('HDEL', META, unpack(ended)) end
  call('HSET', META, 'force', cmsgpack.pack(force))
  if m.local_answers ~= answered then switch_local_answers() end
end

-- Applies the end of an override that has come since the last call.
local function refresh_rules()
  if m.next_change ~= 0 and wall >= m.next_change then settle_rules() end
end
