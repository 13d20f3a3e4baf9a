-- queue.snapshot: the queue as a whole: counts, rate, state and the rules in force.
-- Uses: meta state revoked rules
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock)
-- Reply: OK, epoch, store time (µs), state, waiting, away, ready, active, last ticket, rate (turns in a
--        million seconds, -1 unknown), end of the bypass (µs, 0 none), then the rules in force as texts in
--        the order of lib/rules.lua, then for each override its name and end (µs, 0 none); or NO_RULES
-- Codes: OK NO_RULES

if not load({ 'ticket', 'rate' }) then return { NO_RULES } end
read_clock()
refresh_rules()
local state = state_now()
local from = '(' .. string.format('%.0f', now)
local bypass = state == BYPASS and tonumber(call('HGET', META, 'until:state')) or 0
local reply = {
  OK, m.epoch, wall, state,
  call('ZCARD', WAITING) + call('ZCARD', RETURNED),
  call('ZCARD', AWAY),
  call('ZCOUNT', READY, from, '+inf'),
  call('ZCOUNT', ACTIVE, from, '+inf'),
  m.ticket, m.rate or -1, bypass,
}
local ask = {}
for i, rule in ipairs(RULES) do ask[i] = 'until:' .. rule end
local ends = call('HMGET', META, unpack(ask))
for _, rule in ipairs(RULES) do
  reply[#reply + 1] = rule == 'reason' and m.reason or string.format('%.0f', m[rule] or 0)
end
for i, rule in ipairs(RULES) do
  if ends[i] then
    reply[#reply + 1], reply[#reply + 2] = rule, tonumber(ends[i])
  end
end
return reply
