-- queue.places: the line as operators read it: who holds a place, in ticket order, behind a ticket.
-- Writes nothing.
-- Uses: lib/store lib/entity meta joined_at join_times held inspected
-- KEYS: meta waiting returned away admitted held marks
-- ARGV: now, after, most, status
--       (the ticket behind which to begin, how many places at most (200 or less), of which status:
--       1 waiting, 2 ready, 3 active, 4 away, 0 any)
-- Reply: OK, epoch, the ticket behind which to go on (0: this was the end of the line), then for
--        each place its id, ticket, status, joined (µs, 0 unknown), since when in this state (µs, 0
--        unknown), left_ms; or NO_RULES
-- Codes: OK NO_RULES

-- Only their records distinguish ready and active places. If one of the two is wanted, a call looks
-- at so many of both, and may find fewer than requested.
local LOOKS = 200
-- A set is read in portions of so many.
local PORTION = 50
-- Join times are read with the samples between the tickets, as many samples as places. Where the
-- tickets are far apart so many more are looked up one by one, and then the page ends.
local LOOKUPS = 40

if not load_meta({ 'ticket', 'heard' }) then return { NO_RULES } end
read_clock()
local after, most, wanted = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local sets, looks = { WAITING, RETURNED, AWAY, ADMITTED }, most
if wanted == S_WAITING then
  sets = { WAITING, RETURNED }
elseif wanted == S_AWAY then
  sets = { AWAY }
elseif wanted ~= 0 then
  sets, looks = { ADMITTED }, LOOKS
end

-- Moves on to the next ticket of a set; nothing behind the last.
local function advance(side)
  side.at = side.at + 2
  if side.at > #side.found and not side.at_end then
    local from = '(' .. string.format('%.0f', side.ticket)
    side.found = call('ZRANGEBYSCORE', side.set, from, '+inf', 'WITHSCORES', 'LIMIT', 0, PORTION)
    side.at, side.at_end = 1, #side.found < 2 * PORTION
  end
  side.ticket = tonumber(side.found[side.at + 1])
end

-- The sets in ticket order, merged.
local sides = {}
for _, set in ipairs(sets) do
  local side = { set = set, found = {}, at = -1, ticket = after }
  advance(side)
  if side.ticket then sides[#sides + 1] = side end
end
local ids, tickets, of = {}, {}, {}
while #sides > 0 and #ids < looks do
  local first = 1
  for k = 2, #sides do
    if sides[k].ticket < sides[first].ticket then first = k end
  end
  local side, k = sides[first], #ids + 1
  ids[k], tickets[k], of[k] = side.found[side.at], side.ticket, side.set
  advance(side)
  if not side.ticket then table.remove(sides, first) end
end
if #ids == 0 then return { OK, m.epoch, 0 } end

local records = call('HMGET', HELD, unpack(ids))
local joins = join_times(tickets[1], tickets[#ids], looks)
local reply, k, lookups = { OK, m.epoch, 0 }, 3, 0
for i, ticket in ipairs(tickets) do
  -- What has ended and is not swept yet is gone.
  local status, since, left = inspected(of[i], ticket, records[i])
  if status ~= IS_GONE and (wanted == 0 or status == wanted) then
    local joined, looked_up = joins(ticket)
    joined, lookups = joined and joined + wall - now or 0, lookups + looked_up
    reply[k + 1], reply[k + 2], reply[k + 3] = ids[i], ticket, status
    reply[k + 4], reply[k + 5], reply[k + 6] = joined, since or joined, left
    k = k + 6
  end
  if k == 3 + 6 * most or lookups == LOOKUPS or i == #ids then
    if i < #ids or #sides > 0 then reply[3] = ticket end
    break
  end
end
return reply
