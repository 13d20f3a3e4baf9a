-- event.kick: wakes issuers while there is something to claim, for messages that were lost. Writes
-- nothing.
-- Uses: lib/store lib/entity meta units wake
-- KEYS: meta taken leases returned retry codes
-- ARGV: now, wake
--       (the channel of the issuers)
-- Reply: OK, 1 when it woke them, else 0; or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'given', 'issued', 'head', 'tail' }) then return { NO_RULES } end
read_clock()
local _, free = count_units()
if free == 0 and call('ZCOUNT', RETRY, '-inf', now) == 0 then return { OK, 0 } end
wake()
return { OK, 1 }
