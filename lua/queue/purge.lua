-- queue.purge: all that the store holds of a queue which the configuration no longer names. UNLINK
-- takes it away in constant time and frees it in the background.
-- Uses: lib/store
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address
-- ARGV: now
-- Reply: OK, how many keys, places in line and places admitted there were
-- Codes: OK

local in_line = call('ZCARD', WAITING) + call('ZCARD', RETURNED) + call('ZCARD', AWAY)
local admitted = call('ZCARD', ADMITTED)
return { OK, call('UNLINK', unpack(KEYS)), in_line, admitted }
