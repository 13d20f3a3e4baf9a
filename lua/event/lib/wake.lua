-- Wakes the issuers of the event.
-- KEYS: none. ARGV: now, by store.lua; the channel. Reply: none; a part gives `wake`.

-- A message that no issuer receives costs no more than the time until the next kick; so does one
-- that the ACL forbids.
local function wake() redis.pcall('PUBLISH', ARGV[2], '') end
