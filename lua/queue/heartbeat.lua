-- queue.heartbeat: visitors in line poll, and get no other answer than that they are in line. For
-- others queue.place has the answer: the returned, the inactive, the admitted, and the gone.
-- Uses: lib/store lib/entity meta held ring presence seen outcomes
-- KEYS: meta waiting returned away held seen:{0-4}
-- ARGV: now, (epoch, how, tickets, (id)*)*
--       (lib/visit.lua)
-- Reply: OK, epoch, when the slot was opened in which they were seen (µs of queue time; 0: none is
--        in line), for each item a byte, 1 in line or 0; or NO_RULES
-- Codes: OK NO_RULES

if
  not load_meta({
    'ticket', 'slot', 'slot_at', 'base', 'heard', 'heard_at', 'heard_wall', 'roll_left',
  })
then
  return { NO_RULES }
end
read_clock()

local in_line, items, seen_any = {}, 0, false
local at = 2
while ARGV[at] do
  local packed, before = ARGV[at + 2], at + 2
  local n = #packed / 8
  at = before + n + 1
  local tickets, scores = { struct.unpack(doubles(n), packed) }, {}
  if ARGV[before - 2] == m.epoch then
    scores = call('ZMSCORE', WAITING, unpack(ARGV, before + 1, before + n))
  end
  for i = 1, n do
    items = items + 1
    local ticket = tickets[i]
    if scores[i] and tonumber(scores[i]) == ticket then
      if not seen_any then
        hear()
        seen_any = true
      end
      see(WAITING, ARGV[before + i], ticket)
      in_line[items] = '1'
    else
      in_line[items] = '0'
    end
  end
end
keep_seen()
return { OK, m.epoch, seen_any and m.slot_at or 0, table.concat(in_line) }
