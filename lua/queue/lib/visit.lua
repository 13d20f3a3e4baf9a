-- Calls of visitors: many items in one call, one outcome per item, in order.
-- ARGV after the first: runs of items that share an epoch: epoch, renew (1 or 0; authorize only), number of
-- items, then per item place id and ticket.
-- The outcomes are one string of doubles (8 bytes, most significant first). Each begins with
-- code + 8 * status (or the reason when gone) + 128 * value. Of a waiting place the value is its position,
-- and eta_ms and eta_p90_ms follow (-1 when unknown); else it is left_ms.
local VISIT_FIELDS = { 'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'rate', 'rate_slow', 'drop' }
local out, used = {}, 0

local function answer(code, status, value, median, slow)
  out[used + 1] = code + 8 * status + 128 * value
  if median then
    out[used + 2], out[used + 3] = median, slow
    used = used + 3
  else
    used = used + 1
  end
end

local function answer_waiting(code, id, ticket, set, promotes)
  local place = position(id, ticket, set)
  answer(code, S_WAITING, place, eta(place, promotes))
end

local function answer_admitted(code, status, till)
  answer(code, status, ceil((till - now) / 1000))
end

-- The reply: OK, the epoch, the outcomes.
local function reply()
  return { OK, m.epoch, struct.pack('>' .. string.rep('d', used), unpack(out, 1, used)) }
end

-- The items of this call: ids, tickets, of which the epoch is not in force, and which ask for renewal.
local function read_items()
  local ids, tickets, foreign, renew, n, at = {}, {}, {}, {}, 0, 2
  while ARGV[at] do
    local other, renews, last = ARGV[at] ~= m.epoch, ARGV[at + 1] == '1', at + 2 + 2 * ARGV[at + 2]
    for i = at + 3, last, 2 do
      n = n + 1
      ids[n], tickets[n] = ARGV[i], tonumber(ARGV[i + 1])
      if other then foreign[n] = true end
      if renews then renew[n] = true end
    end
    at = last + 1
  end
  return ids, tickets, foreign, renew
end

-- Locates each item and lets `act(status, detail, id, ticket, since, renew)` answer: detail is the set of a
-- place in line, the end of an admitted one. The gone are answered here.
-- `admitted`: most items are expected to be, so that their records are read at once, else their ranks are.
local function each_visit(admitted, act)
  local ids, tickets, foreign, renew = read_items()
  if #ids == 0 then return end
  local records = admitted and call('HMGET', HELD, unpack(ids))
  local scores = not admitted and call('ZMSCORE', WAITING, unpack(ids))
  for i = 1, #ids do
    local id, ticket = ids[i], tickets[i]
    local status, detail, since
    if foreign[i] then
      status, detail = IS_GONE, LOST
    else
      if records then status, detail, since = locate_held(ticket, records[i]) end
      if not status then
        local score
        if scores then score = scores[i] else score = call('ZSCORE', WAITING, id) end
        if score and tonumber(score) == ticket then status, detail = S_WAITING, WAITING end
      end
      if not status and scores then
        status, detail, since = locate_held(ticket, call('HGET', HELD, id))
      end
      if not status then
        status, detail = IS_GONE, why_gone(id, ticket)
      end
    end
    if status == IS_GONE then
      answer(IS_GONE, detail, 0)
    else
      act(status, detail, id, ticket, since, renew[i])
    end
  end
end

-- A waiting or returning place is heard: it is seen, and stands in line.
local function heartbeat(status, set, id, ticket)
  if #seen == 0 then hear() end
  if status == S_AWAY then
    come_back(id, ticket)
    set = RETURNED
  end
  seen[#seen + 1] = ticket
  return set
end
