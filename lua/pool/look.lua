-- pool.look: what is known of a hold. Writes nothing.
-- Uses: lib/store lib/entity rules sums clock holds
-- KEYS: meta holds ledger (hold)*
-- ARGV: now
-- Reply: OK, doubles: a code, the state, the amount, µs until it ends, the amount settled; or
--        NO_RULES
-- Codes: OK NO_RULES NO_HOLD

if not load() then return { NO_RULES } end
read_pool_clock()
local hold = read_hold(KEYS[4])
if not hold then return { OK, struct.pack('>ddddd', NO_HOLD, 0, 0, 0, 0) } end
local left = hold.state == HELD and hold.ends - now or 0
return { OK, struct.pack('>ddddd', OK, hold.state, hold.amount, left, hold.settled) }
