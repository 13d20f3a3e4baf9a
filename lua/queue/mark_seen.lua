-- queue.mark_seen: visitors have polled whom the caller knows in line: the bits of their tickets in
-- the present slot, or in the one before, which may have ended meanwhile.
-- Uses: lib/store lib/entity meta ring
-- KEYS: meta seen:{0-4} polled
-- ARGV: now, epoch, slot, base, first, bits
--       (slot: its number; base: the ticket of bit 0; first: the byte of the bitmap where the bits
--       begin)
-- Reply: OK, done (0: there is no such slot any more); or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'slot' }) then return { NO_RULES } end
local slot, base = tonumber(ARGV[3]), tonumber(ARGV[4])
local late = (m.slot or -1) - slot
if ARGV[2] ~= m.epoch or late < 0 or late > 1 or read_ring()[slot % 5 + 1] ~= base then
  return { OK, 0 }
end

write_even_if_full()
local key = KEYS[SEEN + slot % 5]
call('SETRANGE', POLLED, ARGV[5], ARGV[6])
-- Much faster than one command for each bit.
local added = redis.pcall('BITOP', 'OR', key, key, POLLED)
call('UNLINK', POLLED)
if type(added) == 'table' then return added end
return { OK, 1 }
