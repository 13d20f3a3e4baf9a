-- queue.join: a place for each identity: the one it has (the join is its heartbeat), or a new one
-- at the end. A join that finds an empty line, and room under both rules, is promoted at once.
-- Uses: lib/store lib/entity lib/memory meta state withheld rules gone_reasons addresses
--       per_address end_place held log health pace ring presence seen outcomes shown outlook waits
-- KEYS: meta waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4} revoked
--       joined_from per_address
-- ARGV: now, from, times, uncounted, estimates, (id)*
--       (for each item the numbers of its address, 4 bytes (lib/addresses.lua), zeros when it is
--       not counted, empty when none is; for each number how many items name it, 0 or, of a /48,
--       `s`, and the number: 1, 1 and 2 bytes; how many places of each address this admission may
--       have given uncounted; an epoch and the estimates of some of its places, 4 doubles each:
--       ticket, queue time and heard time of the join, ms)
-- Reply: OK, epoch, outcomes (lib/outcomes.lua), each behind its ticket (0 when there is none); for
--        CLOSED left_ms is the time until joins are taken (0: unknown), for FULL the status is
--        STORE_FULL when Redis has no memory left, ADDRESS_FULL when the address holds as many
--        places as one may, else 0; or NO_RULES
-- Codes: OK CREATED FULL CLOSED NO_RULES

local SAMPLE_EVERY = 1000000

if not load_meta({
  'marked_at', 'credit', 'credit_at', 'withheld_until', 'counted_upto', unpack(LINE_FIELDS),
}) then
  return { NO_RULES }
end
read_clock()
local last_ticket = m.ticket or 0
m.ticket = last_ticket

local ids = { unpack(ARGV, 6) }
local waiting = call('ZMSCORE', WAITING, unpack(ids))
local records = call('HMGET', HELD, unpack(ids))
local full_store = false
for i = 1, #ids do
  if not waiting[i] and not records[i] then
    full_store = not has_memory()
    break
  end
end
refresh_rules()
local max_waiting = m.max_waiting
local counts, is_close = false, false -- of addresses; whether one may hold too many
if ARGV[2] ~= '' and not full_store then counts, is_close = addresses.begin(ARGV[2], ARGV[3]) end
local _, takes, promotes = state_now()
local lined = call('ZCARD', WAITING)
returned = call('ZCARD', RETURNED)
local depth = lined + returned
hear()

-- Decides the items in order; what is new is written in one go at the end.
local line, placed = {}, 0 -- ticket and id of each new place in line, and how many of both
local at_once, tickets, samples = {}, {}, {}
local given, made = {}, 0 -- the items that got a place in this call, and how many
local created = {} -- identities that got their place in this call, and where `out` has its ticket
local cleared, gave_back = {}, false -- identities whose ended place is cleared away in this call
local free -- promotions that the rules still allow at once; looked up when first needed

-- The place this identity holds: status, detail and ticket; nothing when it has none. A place that
-- has ended but was not swept yet is cleared away, so that one identity never is in two sets.
local function held(i, id)
  if waiting[i] then return S_WAITING, WAITING, tonumber(waiting[i]) end
  if cleared[id] then return end
  local record = changed[id] and call('HGET', HELD, id) or records[i]
  local _, ticket, since = struct.unpack(RECORD, record)
  local status, detail = locate_held(ticket, record)
  if status ~= IS_GONE then return status, detail, ticket end
  cleared[id] = true
  cleared[#cleared + 1] = id
  end_place(id, ticket, detail)
  count_addresses().uncount({ ticket })
  if detail == UNCLAIMED then
    if not log then read_log() end
    give_back(since)
    gave_back = true
  end
end

local function clear_ended()
  if #cleared == 0 then return end
  for _, set in ipairs({ READY, ACTIVE, ADMITTED, AWAY }) do call('ZREM', set, unpack(cleared)) end
  call('HDEL', HELD, unpack(cleared))
  write_gone_reasons()
  if gave_back then
    write_log()
    save({ 'credit', 'credit_at' })
  end
end

-- Free promotions by the rate rule when the line is empty: what the interval leaves, but at an even
-- pace no more than a slice's worth in the time of a slice.
local function free_at_once()
  if m.batch == 0 then return math.huge end
  local allowed = m.batch - promoted_since(now - m.interval)
  if m.pace == PACE_EVEN then
    local slice = slice_length()
    local share = math.ceil(m.batch * slice / m.interval)
    allowed = math.min(allowed, share - promoted_since(now - slice))
  end
  return allowed
end

local function may_pass()
  if not promotes then return false end
  if not free then
    if not log then read_log() end
    load_health()
    follow_health()
    free = math.min(room(), free_at_once(), MAX_CHUNK)
  end
  if free < 1 then return false end
  free = free - 1
  return true
end

local sample_at = (m.marked_at or -SAMPLE_EVERY) + SAMPLE_EVERY

-- `estimate`: in ms, -1 when there is none to be compared with the true wait.
local function sample(ticket, joined, heard, estimate)
  samples[#samples + 1] = ticket
  samples[#samples + 1] = string.format('%.0f:%.0f:%.0f:%.0f', ticket, joined, heard, estimate)
end

local function sample_now(ticket)
  m.marked_at, sample_at = now, now + SAMPLE_EVERY
  sample(ticket, now, m.heard or 0, -1)
end

-- Estimates of another epoch say nothing of its tickets.
if string.sub(ARGV[5], 1, 8) == m.epoch then
  for at = 9, #ARGV[5], 32 do sample(struct.unpack('>dddd', ARGV[5], at)) end
end

-- The answer to a join begins with the ticket.
local function answer_ticket(ticket)
  used = used + 1
  out[used] = ticket
end

local function answer_line(code, place, turn)
  local k = used
  out[k + 1], out[k + 2] = code + 8 * S_WAITING + 128 * place, turn
  used = k + 2
end

-- Answers with the place that this call gave to the identity before, and counts as a heartbeat,
-- like a join in a call of its own. Places that have returned since are promoted before it.
local function answer_again(id, first)
  local ticket, head = out[first], out[first + 1] - CREATED + OK
  answer_ticket(ticket)
  if math.floor(head / 8) % 16 == S_WAITING then
    see(WAITING, id, ticket)
    local place = math.floor(head / 128)
    answer_line(OK, place, place + returned)
  else
    used = used + 1
    out[used] = head
  end
end

for i = 1, #ids do
  local id = ids[i]
  local again, status, detail, ticket = created[id]
  if not again and (waiting[i] or records[i]) then status, detail, ticket = held(i, id) end
  if again then
    answer_again(id, again)
  elseif status == S_READY or status == S_ACTIVE then
    answer_ticket(ticket)
    answer_admitted(OK, status, detail)
  elseif status then
    -- It is back in line, before all new ones.
    if status == S_AWAY then depth = depth + 1 end
    answer_ticket(ticket)
    answer_waiting(OK, id, ticket, heartbeat(status, detail, id, ticket))
  elseif not takes then
    answer_ticket(0)
    answer(CLOSED, 0, wall < m.joins_at and ceil((m.joins_at - wall) / 1000) or 0)
  elseif full_store or depth >= max_waiting or last_ticket >= LAST_TICKET then
    answer_ticket(0)
    answer(FULL, full_store and STORE_FULL or 0, 0)
  elseif is_close and addresses.is_full(i) then
    answer_ticket(0)
    answer(FULL, ADDRESS_FULL, 0)
  else
    ticket = last_ticket + 1
    last_ticket, used, made = ticket, used + 1, made + 1
    given[made] = i
    out[used], created[id] = ticket, used
    if depth == 0 and may_pass() then
      at_once[#at_once + 1], tickets[#tickets + 1] = id, ticket
      if now >= sample_at then sample_now(ticket) end
      answer(CREATED, S_READY, ceil(m.claim_ttl / 1000))
    else
      -- No position counts a returned place, but all of them are promoted before a new one.
      depth, lined = depth + 1, lined + 1
      line[placed + 1], line[placed + 2], placed = ticket, id, placed + 2
      answer_line(CREATED, lined, depth)
      if now >= sample_at then sample_now(ticket) end
    end
  end
end

m.ticket = last_ticket
clear_ended()
if #at_once > 0 then
  -- Their tickets are given, and they never are in WAITING.
  call('HINCRBY', META, 'taken_out', #at_once)
  call('HINCRBY', META, 'at_once', #at_once)
  admit(at_once, tickets)
  record(#at_once)
  write_log()
end
if placed > 0 then call('ZADD', WAITING, unpack(line)) end
if #samples > 0 then call('ZADD', MARKS, unpack(samples)) end
if counts then addresses.keep(given, #ids) end
keep_seen()
if made > 0 then
  save({ 'ticket', 'last', 'marked_at', counts and 'counted_upto' or nil })
end
return reply_with_waits(promotes)
