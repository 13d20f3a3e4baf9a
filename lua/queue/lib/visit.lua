-- Calls for places that visitors name. Needs outcomes.lua, held.lua, gone_reasons.lua and
-- joined_at.lua.
--
-- ARGV behind now: runs of items that share an epoch: epoch, how (authorize only, else 0), the
-- tickets as one string of doubles, then as many place ids.

-- Why a place that is in no set is gone.
local function why_gone(id, ticket)
  local of, reason, at = read_gone_reason(ticket)
  if of == id then return at + GONE_KEPT > now and reason or ENDED end
  -- Never given in this epoch, or not old enough to be forgotten: Redis lost it.
  if ticket > counter('ticket') then return LOST end
  local joined = joined_at(ticket)
  return joined and joined + GONE_KEPT > now and LOST or ENDED
end

-- What an item names: status, detail (the set of a place in line, the end of an admitted one),
-- since when, and whether in a short session; or IS_GONE and the reason. Its record or its ticket
-- in `waiting` may have been read (false: none).
local function locate(id, ticket, record, score)
  local status, detail, since, short
  if record ~= nil then status, detail, since, short = locate_held(ticket, record) end
  if status then return status, detail, since, short end
  if score == nil then score = call('ZSCORE', WAITING, id) end
  if score and tonumber(score) == ticket then return S_WAITING, WAITING end
  if record == nil then
    status, detail, since, short = locate_held(ticket, call('HGET', HELD, id))
  end
  if status then return status, detail, since, short end
  return IS_GONE, why_gone(id, ticket)
end

-- Locates each item and lets `act(status, detail, id, ticket, since, short, how)` answer. The gone
-- are answered here. `admitted`: most items are expected to be, so that their records are read at
-- once, else their tickets are.
local function each_visit(admitted, act)
  local changed, tonumber = changed, tonumber
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
      local id, ticket, record = ARGV[before + i], tickets[i], records and records[i]
      local moved, status, detail, since, short = changed[id], IS_GONE, LOST
      if not mine then
        -- Its epoch is over.
      elseif moved == true then
        status, detail, since, short = locate(id, ticket)
      elseif moved ~= nil then
        status, detail, since, short = locate(id, ticket, moved, false)
      elseif scores and scores[i] and tonumber(scores[i]) == ticket then
        status, detail = S_WAITING, WAITING
      else
        -- With a record nearly every place is found by it alone.
        status = nil
        if record then status, detail, since, short = locate_held(ticket, record) end
        if not status then
          status, detail, since, short =
            locate(id, ticket, records and false, scores and scores[i])
        end
      end
      if status == IS_GONE then
        answer(IS_GONE, detail, 0)
      else
        act(status, detail, id, ticket, since, short, how)
      end
    end
  end
end
