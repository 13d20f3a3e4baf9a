-- queue.mark_seen: visitors have polled whom the caller knows in line: the bits of their tickets in
-- the present slot, or in the one before, which may have ended meanwhile.
-- Uses: lib/store lib/entity meta ring
-- KEYS: meta seen:{0-4}
-- ARGV: now, epoch, slot, base, (first, bits)*
--       (slot: its number; base: the ticket of bit 0; then from which byte of the bitmap on these
--       bits are set, a multiple of 4 bytes)
-- Reply: OK, done (0: there is no such slot any more); or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({ 'slot' }) then return { NO_RULES } end
local slot, base = tonumber(ARGV[3]), tonumber(ARGV[4])
local late = (m.slot or -1) - slot
if ARGV[2] ~= m.epoch or late < 0 or late > 1 or read_ring()[slot % 5 + 1] ~= base then
  return { OK, 0 }
end

-- Many bits are close together, so words are cheaper than bits.
local function either(one, other)
  local words = #other / 4
  local packed = '>' .. string.rep('i4', words)
  local all, more = { struct.unpack(packed, one) }, { struct.unpack(packed, other) }
  for i = 1, words do all[i] = bit.bor(all[i], more[i]) end
  return struct.pack(packed, unpack(all, 1, words))
end

write_even_if_full()
local key = KEYS[SEEN + slot % 5]
for at = 5, #ARGV, 2 do
  local first, bits = tonumber(ARGV[at]), ARGV[at + 1]
  local known = call('GETRANGE', key, first, first + #bits - 1)
  known = known .. string.rep('\0', #bits - #known)
  call('SETRANGE', key, first, either(known, bits))
end
return { OK, 1 }
