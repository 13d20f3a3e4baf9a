-- queue.departures: which places have left the line since so many had: those that were given up or
-- evicted. Writes nothing.
-- Uses: lib/store lib/entity meta
-- KEYS: meta waiting departures
-- ARGV: now, since
--       (since: how many had left at the last reading, empty: there was none)
-- Reply: OK, epoch, replication id (empty: unknown), uncounted, how many have left, as far as
--        those follow, whole (0: some since then are forgotten), more, and their tickets; or
--        NO_RULES
--        (uncounted: changes when version 0.2.0, which names no places, takes one out)
-- Codes: OK NO_RULES

local MOST = 500

if not load_meta({ 'departed', 'ticket', 'taken_out' }) then return { NO_RULES } end
read_clock()
-- A replica that took over, and a server that has started again, may lack the last writes. Each has
-- another replication id.
local info = redis.pcall('INFO', 'replication')
local server = type(info) == 'string' and string.match(info, 'master_replid:(%x+)') or ''
-- Each ticket is in line, or was taken out.
local uncounted = (m.ticket or 0) - call('ZCARD', WAITING) - (m.taken_out or 0)
local departed = m.departed or 0
local since = tonumber(ARGV[2]) or departed
local upto, tickets = math.min(departed, since + MOST), {}
local from = string.format('(%.0f', since)
local gone = call('ZRANGEBYSCORE', DEPARTURES, from, upto, 'WITHSCORES', 'LIMIT', 0, MOST)
for i = 1, #gone, 2 do
  -- Each number is there, unless some are forgotten.
  if tonumber(gone[i + 1]) ~= since + #tickets + 1 then break end
  tickets[#tickets + 1] = tonumber(gone[i])
end
if #tickets ~= upto - since then return { OK, m.epoch, server, uncounted, departed, 0, 0 } end
local more = upto < departed and 1 or 0
return { OK, m.epoch, server, uncounted, upto, 1, more, unpack(tickets) }
