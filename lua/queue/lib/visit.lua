-- Calls of visitors: many items in one call, one outcome per item, in order.
-- Each outcome is seven integers: code, status (or the reason when gone), ticket, position (0 unless
-- waiting), eta_ms, eta_p90_ms (-1 when unknown), left_ms (0 while waiting).
local VISIT_FIELDS = { 'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'rate', 'rate_slow', 'drop' }
local out = {}

local function answer(code, status, ticket, place, median, slow, left)
  local k = #out
  out[k + 1], out[k + 2], out[k + 3], out[k + 4] = code, status, ticket, place
  out[k + 5], out[k + 6], out[k + 7] = median, slow, left
end

local function answer_waiting(code, id, ticket, set, promotes)
  local place = position(id, ticket, set)
  local median, slow = eta(place, promotes)
  answer(code, S_WAITING, ticket, place, median, slow, 0)
end

local function answer_admitted(code, status, ticket, till)
  answer(code, status, ticket, 0, -1, -1, math.ceil((till - now) / 1000))
end

local function answer_gone(reason)
  answer(IS_GONE, reason, 0, 0, -1, -1, 0)
end

-- The part of ARGV that holds every `stride`-th value from `first` on.
local function column(first, stride)
  local values = {}
  for i = first, #ARGV, stride do values[#values + 1] = ARGV[i] end
  return values
end

-- Locates each item (epoch, place id, ticket, …) and lets `act(status, detail, id, ticket, since, at)`
-- answer: detail is the set of a place in line, the end of an admitted one. The gone are answered here.
-- `admitted`: most items are expected to be, so that their records are read at once, else their ranks are.
local function each_visit(stride, admitted, act)
  local ids = column(3, stride)
  if #ids == 0 then return end
  local records = admitted and call('HMGET', HELD, unpack(ids)) or {}
  local scores = admitted and {} or call('ZMSCORE', WAITING, unpack(ids))
  for i, id in ipairs(ids) do
    local at = 2 + (i - 1) * stride
    local ticket = tonumber(ARGV[at + 2])
    local status, detail, since = IS_GONE, LOST, nil
    if ARGV[at] == m.epoch then
      status, detail, since = locate_held(ticket, records[i])
      if not status and tonumber(scores[i] or admitted and call('ZSCORE', WAITING, id)) == ticket then
        status, detail = S_WAITING, WAITING
      end
      if not status and not admitted then
        status, detail, since = locate_held(ticket, call('HGET', HELD, id))
      end
      if not status then
        status, detail = IS_GONE, why_gone(id, ticket)
      end
    end
    if status == IS_GONE then answer_gone(detail) else act(status, detail, id, ticket, since, at) end
  end
end

-- A waiting or returning place is heard: it is seen, and stands in line.
local function heartbeat(status, set, id, ticket)
  hear()
  if status == S_AWAY then
    come_back(id, ticket)
    set = RETURNED
  end
  seen[#seen + 1] = ticket
  return set
end
