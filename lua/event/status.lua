-- event.status: the states of these visitors' applications. Writes nothing.
-- Uses: lib/store lib/entity meta records applications
-- KEYS: meta applications returned retry dead
-- ARGV: now, (digest)*
--       (14 bytes for each visitor)
-- Reply: OK, codes of issued ones, outcomes: two doubles for each visitor, code + 16 * state and a
--        detail (lib/applications.lua), for an issued one a third, the length of its code; or
--        NO_RULES
-- Codes: OK UNKNOWN NO_RULES

if not load({ 'head', 'sold_out_below' }) then return { NO_RULES } end

for _, record in ipairs(call('HMGET', APPLICATIONS, unpack(ARGV, 2))) do
  if record then
    answer_state(OK, record)
  else
    answer(UNKNOWN, 0)
  end
end
return { OK, answers() }
