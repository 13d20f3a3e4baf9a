-- What every limit has: the codes, and the smallest parts of the rules. Needs lib/store.
-- KEYS: none. ARGV: none. Reply: none; a part names the codes.

-- codes: services/core/src/limit/reply.rs mirrors them
local REFUSED, SHADOW_REFUSED, REPEATED, MISMATCH = 2, 3, 4, 5

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- Each algorithm is a function of the key, the limit, the window (ms), the units that must fit and
-- those that are taken if they do; nothing else is written than what is taken, and the offset where
-- the store's clock leapt back. It returns whether the units fit, how many are left, in how many ms
-- all are back and in how many the units fit, and limit time.
