-- queue.revocations: which active places ended before their time since a version of the list.
-- Writes nothing.
-- Uses: lib/store lib/entity meta
-- KEYS: meta revoked
-- ARGV: now, since
--       (the version that was read last; empty: none)
-- Reply: OK, epoch, queue time (µs), local_answers (1 or 0), the version of the list, whole (1: all
--        since the version that was read follows; 0: nothing follows, it is too long ago or too
--        much), then for each place its id and ticket (14 and 8 bytes); or NO_RULES
-- Codes: OK NO_RULES

local MOST = 1000

if not load_meta({ 'revised', 'forgotten' }) then return { NO_RULES } end
read_clock()
local since = tonumber(ARGV[2])
local whole, ended = 0, {}
if since and since >= (m.forgotten or 0) then
  local from = '(' .. string.format('%.0f', since)
  ended = call('ZRANGEBYSCORE', REVOKED, from, '+inf', 'LIMIT', 0, MOST + 1)
  if #ended <= MOST then whole = 1 else ended = {} end
end
return { OK, m.epoch, now, m.local_answers or 0, m.revised or 0, whole, unpack(ended) }
