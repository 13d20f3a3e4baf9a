-- Wakes the issuers of the event.
-- KEYS: none. ARGV: now, by store.lua; the channel. Reply: none; a part gives `wake`.

-- A message that nobody hears costs no more than the time until the next kick; so does one that may
-- not be sent any more.
local function wake() redis.pcall('PUBLISH', ARGV[2], '') end
