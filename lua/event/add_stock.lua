-- event.add_stock: more units, once for each name of the call. Applications that are sold out stay
-- sold out.
-- Uses: lib/store lib/entity lib/memory lib/repeated lib/changes meta sums wake
-- KEYS: meta changes applications (operation)*
--       (the name of the call)
-- ARGV: now, wake, fingerprint, units, by
--       (the channel of the issuers; a digest of the call, 8 bytes; the name of the operator's
--       key, empty: no operator)
-- Reply: OK, code (OK, REPEATED, MISMATCH, TOO_LARGE, FULL), the units given since the event was
--        created, as the first call of this name left them; or NO_RULES
-- Codes: OK REPEATED MISMATCH TOO_LARGE FULL NO_RULES

local DAY, LARGEST = 86400000000, 9007199254740991

if not load({ 'given', 'sold_out_below', 'sold_out', 'failed', 'is_dropped' }) then
  return { NO_RULES }
end
read_clock()
local name, fingerprint, units = KEYS[4], ARGV[3], tonumber(ARGV[4])
local same, note = repeated(name, fingerprint, now - DAY)
if same then return { OK, REPEATED, (struct.unpack('>d', note)) } end
if same == false then return { OK, MISMATCH, m.given } end
if units > LARGEST - m.given then return { OK, TOO_LARGE, m.given } end
if not has_memory() then return { OK, FULL, m.given } end
m.given = m.given + units
remember(name, fingerprint .. struct.pack('>d', m.given), now, 2 * DAY / 1000)
save({ 'last', 'given' })
if m.is_dropped == 0 then copy_sums() end
wake()
local before = { 'stock', m.given - units }
log_change(CHANGES, ARGV[5], 'event.add_stock', before, { 'stock', m.given, 'added', units })
return { OK, OK, m.given }
