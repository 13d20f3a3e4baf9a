-- queue.inspect: what the store knows of a ticket.
-- Uses: lib/store lib/entity meta gone_reasons joined_at held inspected
-- KEYS: meta waiting returned away admitted held gone:{0-1} marks
-- ARGV: now, ticket
-- Reply: OK, status (1 waiting, 2 ready, 3 active, 4 away, 7 gone, 0 never given), reason (0 unless
--        gone), joined (µs, 0 unknown), since when in this state (µs, 0 unknown), left_ms; or
--        NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'ticket', 'heard' }) then return { NO_RULES } end
read_clock()
local ticket = tonumber(ARGV[2])
if ticket > counter('ticket') then return { OK, 0, 0, 0, 0, 0 } end
local joined = joined_at(ticket)
joined = joined and joined + wall - now or 0

local set, id = find(ticket)
if set then
  local status, since, left = inspected(set, ticket, call('HGET', HELD, id))
  if status == IS_GONE then return { OK, IS_GONE, since, joined, 0, 0 } end
  return { OK, status, 0, joined, since or joined, left }
end
local id_gone, reason, at = read_gone_reason(ticket)
if id_gone then return { OK, IS_GONE, reason, joined, at + wall - now, 0 } end
return { OK, IS_GONE, ENDED, joined, 0, 0 }
