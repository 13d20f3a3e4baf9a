-- queue.reset: removes all waiting and admitted visitors; tickets restart at 1, under a new epoch.
-- The rules, the overrides and the log of promotions stay, so the protected service is not flooded.
-- Uses: lib/store lib/entity lib/changes meta create_empty withheld
-- KEYS: meta changes waiting returned away ready active admitted held gone:{0-1} marks seen:{0-4}
--       revoked polled:{0-1} departures outlines joined_from per_address
-- ARGV: now, epoch, of, by
--       (the new one; the epoch that must be in force, in a retry with `!` in front; the name of
--       the operator's key, empty: no operator)
-- Reply: OK, done (1; 0: an earlier call has begun this epoch; 2: another epoch is in force, and
--        nothing was changed; 3: the same for a retry, whose first call can have been executed); or
--        NO_RULES
-- Codes: OK NO_RULES

if not load_meta({}) then return { NO_RULES } end
if m.epoch == ARGV[2] then return { OK, 0 } end
local of = ARGV[3]
if of ~= m.epoch and of ~= '!' .. m.epoch then return { OK, #of > #m.epoch and 3 or 2 } end
read_clock()
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
  'walk_away_at', 'gone_at', 'gone_period', 'counted_upto', 'counted_from', 'taken_out',
  'at_once', 'missed', 'waits'
)
call('HSET', META, 'epoch', ARGV[2], 'last', now)
if m.local_answers == 1 then withhold() end
local after = { 'waiting', 0, 'away', 0, 'ready', 0, 'active', 0, 'last_ticket', 0 }
log_change(CHANGES, ARGV[4], 'queue.reset', before, after)
return { OK, 1 }
