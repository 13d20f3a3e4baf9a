-- queue.snapshot: the queue as a whole: counts, rate, state and the rules in force.
-- Uses: lib/store lib/entity lib/rules_reply meta state withheld rules health
-- KEYS: meta waiting returned away ready active
-- ARGV: now, file_revision, over_revision
--       (the newest that the caller has seen)
-- Reply: OK, epoch, store time (µs), state, waiting, away, ready, active, ended and not swept, last
--        ticket, rate (turns in a million seconds, -1 unknown), end of the bypass (µs, 0 none), 1
--        while health alone pauses promotion, the target's state (0 unknown), the quarters of the
--        pace that it leaves, the adaptive batch (0 none), its bounds, and why it took the last
--        step (lib/adaptive.lua); of the file and of the overrides the revision and, when the
--        caller has not seen it, the packed part, else an empty text; the rules in force as texts
--        in the order of their table; for each override in force its name, value and end (µs, 0
--        none); or NO_RULES
-- Codes: OK NO_RULES

if
  not load_meta({
    'ticket', 'turn_rate', 'health_state', 'health_at', 'adaptive_min', 'adaptive_max',
    'adaptive_reason',
  })
then
  return { NO_RULES }
end
read_clock()
refresh_rules()
load_health()
local state, _, _, by_health = state_now()
local over, adaptive = read_overrides(), is_adaptive() and 1 or 0
local from = '(' .. string.format('%.0f', now)
local bypass = state == STATE_BYPASS and over.state[2] or 0
local file_revision, file = unseen('file', ARGV[2])
local over_revision, over_part = unseen('over', ARGV[3])
local reply = {
  OK, m.epoch, wall, state,
  call('ZCARD', WAITING) + call('ZCARD', RETURNED),
  call('ZCARD', AWAY),
  call('ZCOUNT', READY, from, '+inf'),
  call('ZCOUNT', ACTIVE, from, '+inf'),
  call('ZCOUNT', READY, '-inf', now) + call('ZCOUNT', ACTIVE, '-inf', now),
  counter('ticket'), m.turn_rate or -1, bypass, by_health and 1 or 0,
  health(), health() > BREAKER_CLOSED and 0 or quarters(),
  adaptive * (m.adaptive_batch or 0), m.adaptive_min or 0, m.adaptive_max or 0,
  m.adaptive_reason or 0,
  file_revision, file, over_revision, over_part,
}
for _, rule in ipairs(RULES) do
  reply[#reply + 1] = rule == 'reason' and m.reason or string.format('%.0f', m[rule])
end
for _, rule in ipairs(RULES) do
  local override = over[rule]
  if override and holds(override) then
    local k = #reply
    reply[k + 1], reply[k + 2], reply[k + 3] = rule, override[1], override[2]
  end
end
return reply
