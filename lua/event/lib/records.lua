-- Records of applications.
-- KEYS: none. ARGV: none. Reply: none; a part reads and writes them.
--
-- A record holds the sequence, the state (pending, issued, or failed for good) and when it was made
-- (ms of queue time); an issued one instead when that was (s of the store's clock) and the last
-- bits of the fence that issued it, and behind it its code.
local RECORD, ISSUED, CODE_AT = '>I6BI6', '>I6BI4I3', 15
local FENCE_BITS = 16777216

-- Called for every application: a look-up less each time.
local read = struct.unpack
