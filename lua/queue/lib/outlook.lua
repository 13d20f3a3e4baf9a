-- What each tick leaves for the estimates of those in line, packed: turns.lua writes it, core
-- reads it (services/core/src/queue/outlook.rs). A list of numbers; times in µs.

-- when it was written; the time from one turn to the next; the variance of turns: `NEAR` times
-- their number for few, `JITTER` + `SPREAD` times their number for many; that of the rate in parts
-- of its square; drop-outs of a place in a µs, and how unsure that is
local WRITTEN, GAP, NEAR, JITTER, SPREAD, DRIFT, DROP, UNSURE = 1, 2, 3, 4, 5, 6, 7, 8
-- turns that only the batch delays (below 0: that come first, because the room is fuller than the
-- capacity); the first end of a slot (0: unknown), the time from one end to the next, else from one
-- slot that is freed before its end to the next; the time that turns wait for each other; the time
-- between ticks
local SPARE, OPENS, OPENS_GAP, EARLY_GAP, LULL, SPACING = 9, 10, 11, 12, 13, 14
-- with the pace `batch`: its size, the time of the next one and how many come with that; the time
-- between turns that the batch allows; the rules
local WAVE, WAVE_AT, FIRST_WAVE, RULE_GAP = 15, 16, 17, 18
local OF_CAPACITY, OF_BATCH, OF_INTERVAL = 19, 20, 21
local OUTLOOK = '>' .. string.rep('d', OF_INTERVAL)
