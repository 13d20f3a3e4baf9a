-- Calls of visitors: many items in one call, one outcome per item, in order.
-- Each outcome is seven integers: code, status (or the reason when gone), ticket, position (0 unless
-- waiting), eta_ms, eta_p90_ms (-1 when unknown), left_ms (0 while waiting).
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

-- Locates each item (epoch, place id, ticket, …) and lets `act(status, detail, id, ticket, at)` answer:
-- detail is the set of a place in line, the end of an admitted one. The gone are answered here. Scores in
-- the sets where most items stand, `first`, are read for all items at once.
local function each_visit(stride, first, act)
  local ids = column(3, stride)
  if #ids == 0 then return end
  local scores = call('ZMSCORE', first, unpack(ids))
  local active = first == ADMITTED and call('ZMSCORE', ACTIVE, unpack(ids)) or {}
  local second = first == ADMITTED and WAITING or ADMITTED
  for i, id in ipairs(ids) do
    local at = 2 + (i - 1) * stride
    local ticket = tonumber(ARGV[at + 2])
    local set, status, detail = nil, IS_GONE, LOST
    if ARGV[at] == m.epoch then
      if tonumber(scores[i]) == ticket then
        set = first
      elseif tonumber(call('ZSCORE', second, id)) == ticket then
        set = second
      end
      if set == WAITING then
        status, detail = S_WAITING, WAITING
      elseif set == ADMITTED then
        status, detail = locate_admitted(id, active[i])
      else
        status, detail = locate_absent(id, ticket)
      end
    end
    if status == IS_GONE then answer_gone(detail) else act(status, detail, id, ticket, at) end
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
