-- queue.reset: removes all waiting and admitted visitors; tickets restart at 1, under a new epoch.
-- The rules, the overrides, the totals and the log of promotions stay, so the protected service is
-- not flooded.
-- Uses: lib/store lib/entity lib/repeated lib/changes meta create_empty withheld
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address (call)*
--       (the last key names this call)
-- ARGV: now, random, latest, by
--       (4 random bytes for the new epoch; the latest time of the call, in µs of Redis time; the
--       name of the operator's key, empty: no operator)
-- Reply: OK, done (1; 0: by an earlier sending; 2: the call is too late, and nothing was changed);
--        or NO_RULES
-- Codes: OK NO_RULES

if not load_meta({}) then return { NO_RULES } end
local key, latest = KEYS[#KEYS], tonumber(ARGV[3])
if repeated(key, '', -math.huge) then return { OK, 0 } end
read_clock()
if wall > latest then return { OK, 2 } end
-- The time is in the epoch: if Redis loses the first execution, a retry begins another epoch.
local epoch = ARGV[2] .. struct.pack('>I4', wall % 4294967296)
local from = '(' .. string.format('%.0f', now)
local before = {
  'waiting', call('ZCARD', WAITING) + call('ZCARD', RETURNED), 'away', call('ZCARD', AWAY),
  'ready', call('ZCOUNT', READY, from, '+inf'), 'active', call('ZCOUNT', ACTIVE, from, '+inf'),
  'last_ticket', counter('ticket'),
}
create_empty()
call(
  'HDEL', META, 'ticket', 'slot', 'slot_at', 'base', 'ring', 'heard', 'heard_at', 'heard_wall',
  'roll_left', 'roll_slot', 'roll_top', 'young', 'busy', 'marked_at', 'dropped', 'counts_since',
  'outlook', 'walk_waiting', 'walk_returned', 'walk_away', 'walk_waiting_at', 'walk_returned_at',
  'walk_away_at', 'gone_at', 'gone_period', 'counted_upto', 'counted_from', 'taken_out'
)
call('HSET', META, 'epoch', epoch, 'last', now)
remember(key, '', wall, OPERATOR_CALL_TTL)
if m.local_answers == 1 then withhold() end
local after = { 'waiting', 0, 'away', 0, 'ready', 0, 'active', 0, 'last_ticket', 0 }
log_change(CHANGES, ARGV[4], 'queue.reset', before, after)
return { OK, 1 }
