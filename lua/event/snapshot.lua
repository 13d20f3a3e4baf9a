-- event.snapshot: the event as a whole: stock, applications by state, and the rules in force.
-- Writes nothing.
-- Uses: lib/store lib/entity lib/rules_reply meta
-- KEYS: meta leases returned retry dead codes
-- ARGV: now, file_revision
--       (the newest that the caller has seen)
-- Reply: OK, store time (µs), units given, issued, in line, given back, claimed, to be tried again,
--        dead, failed for good, sold out, codes left; the revision of the file and, when the caller
--        has not seen it, the packed file, else an empty text; then the name and the value of each
--        rule in force; or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'given', 'issued', 'head', 'tail', 'sold_out', 'failed' }) then
  return { NO_RULES }
end
read_clock()
local reply = {
  OK, wall, m.given, m.issued, m.tail - m.head,
  call('ZCARD', RETURNED),
  call('ZCARD', LEASES),
  call('ZCARD', RETRY),
  call('ZCARD', DEAD),
  m.failed, m.sold_out,
  call('LLEN', CODES),
  unseen('file', ARGV[2]),
}
append_rules(reply)
return reply
