-- Calls of visitors: many items in one call, one outcome per item, in order.
-- ARGV after the first: runs of items that share an epoch: epoch, how (authorize only, else 0), the tickets as
-- one string of doubles, then as many place ids.
-- The outcomes are one string of doubles, too (8 bytes each, most significant first). Each begins with
-- code + 8 * status (or the reason when gone) + 128 * value. Of a waiting place the value is its position,
-- and what lib/eta.lua says of its turn follows; else it is left_ms.
local VISIT_FIELDS = {
  'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'heard_wall', 'roll_left', 'rate', 'rate_slow', 'drop',
  'lull',
}
local RENEWING, JOINED = '1', '2' -- how: the session is renewed; a join at the gate has just given the place
local out, used = {}, 0

local function doubles(n)
  return '>' .. string.rep('d', n)
end

local function answer(code, status, value)
  used = used + 1
  out[used] = code + 8 * status + 128 * value
end

-- Returns the median wait that it tells.
local function answer_line(code, promotes, place, turn)
  local median, slow = eta(turn, promotes)
  out[used + 1], out[used + 2], out[used + 3] = code + 8 * S_WAITING + 128 * place, median, slow
  used = used + 3
  return median
end

local function answer_waiting(code, id, ticket, set, promotes)
  answer_line(code, promotes, position(id, ticket, set))
end

local function answer_admitted(code, status, till)
  local left = till - now + 999
  used = used + 1
  out[used] = code + 8 * status + 128 * (left - left % 1000) / 1000
end

-- The reply: OK, the epoch, the outcomes.
local function reply()
  return { OK, m.epoch, struct.pack(doubles(used), unpack(out, 1, used)) }
end

-- Where an item stands: status, detail (the set of a place in line, the end of an admitted one), since when, and
-- whether in a short session; or IS_GONE and the reason. Its record or its ticket in `waiting` may have been read
-- (false: none).
local function locate(id, ticket, record, score)
  local status, detail, since, short
  if record ~= nil then status, detail, since, short = locate_held(ticket, record) end
  if status then return status, detail, since, short end
  if score == nil then score = call('ZSCORE', WAITING, id) end
  if score and tonumber(score) == ticket then return S_WAITING, WAITING end
  if record == nil then status, detail, since, short = locate_held(ticket, call('HGET', HELD, id)) end
  if status then return status, detail, since, short end
  return IS_GONE, why_gone(id, ticket)
end

-- Locates each item and lets `act(status, detail, id, ticket, since, short, how)` answer. The gone are answered
-- here. `admitted`: most items are expected to be, so that their records are read at once, else their
-- tickets are.
local function each_visit(admitted, act)
  local at = 2
  while ARGV[at] do
    local mine, how, packed = ARGV[at] == m.epoch, ARGV[at + 1], ARGV[at + 2]
    local n, before = #packed / 8, at + 2
    local tickets = { struct.unpack(doubles(n), packed) }
    at = before + n + 1
    local records, scores
    if mine and admitted then
      records = call('HMGET', HELD, unpack(ARGV, before + 1, before + n))
    elseif mine then
      scores = call('ZMSCORE', WAITING, unpack(ARGV, before + 1, before + n))
    end
    for i = 1, n do
      local id, ticket = ARGV[before + i], tickets[i]
      local moved, record, score = changed[id]
      if moved == nil then
        record, score = records and records[i], scores and scores[i]
      elseif moved ~= true then
        record, score = moved, false
      end
      local status, detail, since, short = IS_GONE, LOST
      if mine then status, detail, since, short = locate(id, ticket, record, score) end
      if status == IS_GONE then
        answer(IS_GONE, detail, 0)
      else
        act(status, detail, id, ticket, since, short, how)
      end
    end
  end
end

-- A waiting or returning place is heard: it is seen, and stands in line.
local has_heard = false
local function heartbeat(status, set, id, ticket)
  if not has_heard then
    hear()
    has_heard = true
  end
  if status == S_AWAY then
    come_back(id, ticket)
    return RETURNED
  end
  see(set, id, ticket)
  return set
end
