-- queue.snapshot: the queue as a whole: counts, rate, state and the rules in force.
-- Uses: lib/store lib/entity lib/rules_reply meta state withheld rules joined_at health presence
--       outlook
-- KEYS: meta waiting returned away ready active marks
-- ARGV: now, file_revision, over_revision
--       (the newest that the caller has seen)
-- Reply: OK, epoch, store time (µs), state, waiting, away, ready, active, ended and not swept, last
--        ticket, rate (turns in a million seconds, -1 unknown), end of the bypass (µs, 0 none), 1
--        while health alone pauses promotion, the target's state (0 unknown), the quarters of the
--        pace that it leaves, the adaptive batch (0 none), its bounds, and why it took the last
--        step (lib/adaptive.lua); the numbers for expected waits (lib/outlook.lua), 2 texts, empty
--        while no wait is known; how long the head of the line has waited (ms, -1 unknown); of the
--        totals (lib/totals.lua) the places promoted by their join, the missed turns, the histogram
--        of waits as a text, empty before the first, and the epoch with which they began, empty if
--        version 0.2.0 began it; of the file and of the overrides the revision and, when the caller
--        has not seen it, the packed part, else an empty text; the rules in force as texts in the
--        order of their table; for each override in force its name, value, end (µs, 0 none) and the
--        value of the file, else the default; or NO_RULES
-- Codes: OK NO_RULES

if
  not load_meta({
    'ticket', 'turn_rate', 'health_state', 'health_at', 'adaptive_min', 'adaptive_max',
    'adaptive_reason', 'heard', 'heard_at', 'roll_left', 'outlook', 'ramp_at', 'open_for',
    'at_once', 'missed', 'waits',
  })
then
  return { NO_RULES }
end
read_clock()
refresh_rules()
load_health()
local state, _, promotes, by_health = state_now()
local over, adaptive = read_overrides(), is_adaptive() and 1 or 0
local from = '(' .. string.format('%.0f', now)
local bypass = state == STATE_BYPASS and over.state[2] or 0
local file_revision, file = unseen('file', ARGV[2])
local over_revision, over_part = unseen('over', ARGV[3])
local depth = call('ZCARD', WAITING) + call('ZCARD', RETURNED)

-- Positions do not count places that returned, but these are promoted in the order of their tickets
-- too.
local function head_wait()
  if depth == 0 then return -1 end
  local head
  for _, set in ipairs({ WAITING, RETURNED }) do
    local ticket = tonumber(call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
    if ticket and not (head and head < ticket) then head = ticket end
  end
  local since = joined_at(head)
  return since and math.floor((now - since) / 1000) or -1
end

-- Random bytes: load_meta turns each text that looks like a number into one.
local totals_of = call('HGET', META, 'totals_of') or ''
local outlook, last_outlook = outlook_now(promotes)
local reply = {
  OK, m.epoch, wall, state,
  depth,
  call('ZCARD', AWAY),
  call('ZCOUNT', READY, from, '+inf'),
  call('ZCOUNT', ACTIVE, from, '+inf'),
  call('ZCOUNT', READY, '-inf', now) + call('ZCOUNT', ACTIVE, '-inf', now),
  counter('ticket'), m.turn_rate or -1, bypass, by_health and 1 or 0,
  health(), health() > BREAKER_CLOSED and 0 or quarters(),
  adaptive * (m.adaptive_batch or 0), m.adaptive_min or 0, m.adaptive_max or 0,
  m.adaptive_reason or 0,
  outlook or '', last_outlook or '', head_wait(), m.at_once or 0, m.missed or 0, m.waits or '',
  totals_of,
  file_revision, file, over_revision, over_part,
}
for _, rule in ipairs(RULES) do
  reply[#reply + 1] = rule == 'reason' and m.reason or string.format('%.0f', m[rule])
end
local in_file, defaults
for _, rule in ipairs(RULES) do
  local override = over[rule]
  if override and holds(override) then
    in_file = in_file or cmsgpack.unpack(call('HGET', META, 'file'))
    defaults = defaults or DEFAULT_RULES
    local k, value = #reply, in_file[rule] or defaults[rule]
    reply[k + 1], reply[k + 2], reply[k + 3] = rule, override[1], override[2]
    reply[k + 4] = rule == 'reason' and value or string.format('%.0f', value)
  end
end
return reply
