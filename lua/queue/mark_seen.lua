-- queue.mark_seen: visitors have polled whom the caller knows in line: the bits of their tickets in
-- one of the five slots, which may have ended meanwhile.
-- Uses: lib/store lib/entity meta ring
-- KEYS: meta seen:{0-4} polled:{0-1}
-- ARGV: now, epoch, slot, base, first, bits
--       (slot: its number; base: the ticket of bit 0; first: the byte of the bitmap where the bits
--       begin)
-- Reply: OK, done (0: there is no such slot any more); or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'slot' }) then return { NO_RULES } end
local slot, base = tonumber(ARGV[3]), tonumber(ARGV[4])
local late = (m.slot or -1) - slot
if ARGV[2] ~= m.epoch or late < 0 or late > 4 or read_ring()[slot % 5 + 1] ~= base then
  return { OK, 0 }
end

write_even_if_full()
-- BITOP takes whole strings, and a bitmap can be long. So it gets copies of the part.
local key, first, bits = KEYS[SEEN + slot % 5], tonumber(ARGV[5]), ARGV[6]
local known = call('GETRANGE', key, first, first + #bits - 1)
local ours, theirs = KEYS[POLLED], KEYS[POLLED + 1]
-- Replicas and the append-only file get the result alone.
redis.set_repl(redis.REPL_NONE)
call('SET', ours, bits)
call('SET', theirs, known)
local added = redis.pcall('BITOP', 'OR', ours, ours, theirs)
local all = call('GET', ours)
call('UNLINK', ours, theirs)
redis.set_repl(redis.REPL_ALL)
if type(added) == 'table' then return added end
call('SETRANGE', key, first, all)
return { OK, 1 }
