-- queue.inspect: what the store knows of a place, by its ticket or its id.
-- Uses: lib/store lib/entity meta gone_reasons joined_at held inspected
-- KEYS: meta waiting returned away admitted held gone:{0-1} marks
-- ARGV: now, ticket, id, epoch
--       (ticket 0: that of the present place of the id; id and epoch empty: any)
-- Reply: OK, ticket, status (1 waiting, 2 ready, 3 active, 4 away, 7 gone, 0 no such place), reason
--        (0 unless gone), joined (µs, 0 unknown), since when in this state (µs, 0 unknown),
--        left_ms; or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'ticket', 'heard' }) then return { NO_RULES } end
read_clock()
local id, epoch = ARGV[3], ARGV[4]

-- The ticket of the place that the id holds; 0 when it holds none.
local function ticket_held()
  local score = call('ZSCORE', WAITING, id)
  if score then return tonumber(score) end
  local record = call('HGET', HELD, id)
  return record and select(2, struct.unpack(RECORD, record)) or 0
end

local ticket, none = tonumber(ARGV[2]), { OK, 0, 0, 0, 0, 0, 0 }
local by_holder = ticket == 0
if by_holder then ticket = ticket_held() end
local is_given = ticket > 0 and ticket <= counter('ticket')
if not is_given or epoch ~= '' and epoch ~= m.epoch then return none end
local joined = joined_at(ticket)
joined = joined and joined + wall - now or 0

local set, holder = find(ticket)
local id_gone, reason, at
if not set then
  id_gone, reason, at = read_gone_reason(ticket)
  holder = id_gone
end
if id ~= '' and holder and holder ~= id then return none end
if set then
  local status, since, left = inspected(set, ticket, call('HGET', HELD, holder))
  -- It has ended and is not swept yet: its visitor holds no place.
  if status == IS_GONE and by_holder then return none end
  if status == IS_GONE then return { OK, ticket, IS_GONE, since, joined, 0, 0 } end
  return { OK, ticket, status, 0, joined, since or joined, left }
end
if id_gone then return { OK, ticket, IS_GONE, reason, joined, at + wall - now, 0 } end
return { OK, ticket, IS_GONE, ENDED, joined, 0, 0 }
