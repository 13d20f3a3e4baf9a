-- event.give_up: a dead letter has failed for good. Its unit is the next one's in line, or goes
-- back to the stock.
-- Uses: lib/store lib/entity lib/changes meta records sums wake
-- KEYS: meta changes applications taken dead
-- ARGV: now, wake, digest, by
--       (the channel of the issuers; 14 bytes of a digest of the visitor; the name of the
--       operator's key, empty: no operator)
-- Reply: OK, code (OK: it failed, or had before; UNKNOWN: it is no dead letter); or NO_RULES
-- Codes: OK UNKNOWN NO_RULES

if not load({ 'given', 'sold_out_below', 'sold_out', 'failed' }) then return { NO_RULES } end
read_clock()
write_even_if_full()
local record = call('HGET', APPLICATIONS, ARGV[3])
if not record then return { OK, UNKNOWN } end
local sequence, state = read('>I6B', record)
if state == S_FAILED then return { OK, OK } end
if call('ZREM', DEAD, sequence) == 0 then return { OK, UNKNOWN } end
call('HDEL', TAKEN, sequence)
local _, _, made = read(RECORD, record)
call('HSET', APPLICATIONS, ARGV[3], struct.pack(RECORD, sequence, S_FAILED, made))
m.failed = m.failed + 1
save({ 'last', 'failed' })
copy_sums()
wake()
-- The entry does not name the visitor.
local left = call('ZCARD', DEAD)
local after = { 'given_up', true, 'dead', left }
log_change(CHANGES, ARGV[4], 'event.give_up', { 'dead', left + 1 }, after)
return { OK, OK }
