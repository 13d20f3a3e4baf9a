-- queue.departures: which places have left the line since so many had: those that were given up or
-- evicted. Writes nothing.
-- Uses: lib/store lib/entity meta
-- KEYS: meta departures
-- ARGV: now, since
--       (since: how many had left at the last reading, empty: there was none)
-- Reply: OK, epoch, run id of the server (empty: unknown), how many have left, as far as those
--        follow, whole (0: some since then are forgotten), more, and their tickets; or NO_RULES
-- Codes: OK NO_RULES

local MOST = 500

if not load_meta({ 'departed' }) then return { NO_RULES } end
read_clock()
-- Another server may lack the last writes: after a restart, or as the replica that took over.
local info = redis.pcall('INFO', 'server')
local run_id = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
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
if #tickets ~= upto - since then return { OK, m.epoch, run_id, departed, 0, 0 } end
return { OK, m.epoch, run_id, upto, 1, upto < departed and 1 or 0, unpack(tickets) }
