-- Places as visitors are shown them, and their polls from the line. Needs outcomes.lua, seen.lua
-- and LINE_FIELDS.
local LINE_FIELDS = {
  'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'heard_wall', 'roll_left', 'outlook',
  'health_state', 'health_at', 'ramp_at', 'open_for',
}

-- How many have returned; looked up when first needed.
local returned

-- Places of a set with a smaller ticket.
local function before(ticket, set)
  return call('ZCOUNT', set, '-inf', '(' .. string.format('%.0f', ticket))
end

-- Answers with the position (1 = next) and the turn, from which the wait follows: how many
-- promotions there are up to this one. No position counts a returned place, so a position only
-- improves, but a returned place is promoted before all later tickets.
local function answer_waiting(code, id, ticket, set)
  local place, turn
  if set == RETURNED then
    place = before(ticket, WAITING) + 1
    turn = place + call('ZRANK', RETURNED, id)
  else
    place = call('ZRANK', WAITING, id) + 1
    returned = returned or call('ZCARD', RETURNED)
    turn = returned == 0 and place or place + before(ticket, RETURNED)
  end
  local k = used
  out[k + 1], out[k + 2] = code + 8 * S_WAITING + 128 * place, turn
  used = k + 2
end

local function answer_admitted(code, status, till)
  local left = till - now + 999
  used = used + 1
  out[used] = code + 8 * status + 128 * (left - left % 1000) / 1000
end

-- The visitor of a waiting or returning place polls: the place is seen, and is in line. One that is
-- away returns with its old ticket.
local has_heard = false
local function heartbeat(status, set, id, ticket)
  if not has_heard then
    hear()
    has_heard = true
  end
  if status ~= S_AWAY then
    see(set, id, ticket)
    return set
  end
  changed[id] = true
  if returned then returned = returned + 1 end
  write_even_if_full()
  call('ZREM', AWAY, id)
  call('ZADD', RETURNED, ticket, id)
  call('HSET', HELD, id, pack_record(S_WAITING, ticket, m.slot, 0))
  return RETURNED
end
