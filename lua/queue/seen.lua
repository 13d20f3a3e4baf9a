-- queue.seen: which tickets were seen in the present slot, from a ticket on: a part of its bitmap.
-- Writes nothing.
-- Uses: lib/store lib/entity meta ring
-- KEYS: meta seen:{0-4}
-- ARGV: now, ticket
-- Reply: OK, epoch, when the slot was opened (µs of queue time, 0: none), its number, whether a
--        check-in period opened it, the ticket of its bit 0, how many bits it can have, the first
--        byte of the part, the last ticket, more (1: the bitmap may go on), the part of the bitmap;
--        or NO_RULES
-- Codes: OK NO_RULES

local MOST_BYTES = 256 * 1024

if not load_meta({ 'slot', 'slot_at', 'base', 'roll_slot' }) then return { NO_RULES } end
read_clock()
local first, last = tonumber(ARGV[2]), counter('ticket')
if not m.slot then return { OK, m.epoch, 0, 0, 0, first, 0, 0, last, 0, '' } end
local key, from = KEYS[SEEN + m.slot % 5], math.max(0, math.floor((first - m.base) / 8))
local part = call('GETRANGE', key, from, from + MOST_BYTES - 1)
local more = #part == MOST_BYTES and 1 or 0
local checks_in = m.roll_slot == m.slot and 1 or 0
local reach = REACH * m.max_waiting
return { OK, m.epoch, m.slot_at, m.slot, checks_in, m.base, reach, from, last, more, part }
