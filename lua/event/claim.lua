-- event.claim: the next applications for an issuer, in the order in which they were made, each
-- under a lease and all under one fence. First those whose retry is due, and those that were given
-- back. A repeat of an issuer's last claim returns what that claimed.
-- Uses: lib/store lib/entity lib/forward meta taken units held
-- KEYS: meta line taken leases returned retry codes (issuer)*
--       (the last claim of an issuer, whose id its last 16 bytes are)
-- ARGV: now, most, number
--       (of the claim, among those of its issuer)
-- Reply: OK, fence, lease_ms, again_us (-1: unknown), more (1 or 0: further ones wait, and there
--        are units for them), how they are to be issued, then for each its sequence, the number of
--        the attempt and the visitor_id; or NO_RULES
-- Codes: OK NO_RULES

local MOST = 64
-- In ms: an issuer repeats a claim until it is answered, or ends; the store may be away meanwhile.
local LAST_CLAIM_TTL = 86400000

if not load({
  'given', 'issued', 'head', 'tail', 'fence', 'debt', 'debt_at', 'debt_offset', 'grace_from',
  'grace_until',
}) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()

local issuer, number = KEYS[8], tonumber(ARGV[3])
local works = {}

local function hand_out(sequence, attempts, visitor_id)
  local k = #works
  works[k + 1], works[k + 2], works[k + 3] = tonumber(sequence), attempts + 1, visitor_id
end

-- What this very claim has claimed before, as far as it holds; its leases restart.
local function again()
  local last = call('GET', issuer)
  if not last then return nil end
  local numbers = { struct.unpack('>' .. string.rep('d', #last / 8), last) }
  if numbers[1] ~= number then return nil end
  local sequences, leases = { unpack(numbers, 3, #numbers - 1) }, {}
  for i, packed in ipairs(held(sequences, numbers[2])) do
    if packed then
      local _, attempts, visitor_id = read_entry(packed)
      leases[#leases + 1], leases[#leases + 2] = now + m.lease, sequences[i]
      hand_out(sequences[i], attempts, visitor_id)
    end
  end
  if #leases > 0 then call('ZADD', LEASES, unpack(leases)) end
  return numbers[2]
end
local fence = again()
if fence then
  return { OK, fence, math.floor(m.lease / 1000), -1, 1, m.issue, unpack(works) }
end

local due = call('ZRANGEBYSCORE', RETRY, '-inf', now, 'LIMIT', 0, MOST)
if #due > 0 then
  call('ZREM', RETRY, unpack(due))
  call('ZADD', RETURNED, unpack(by_sequence(due)))
end
local waiting, free, returned = count_units()

-- `max_per_second` of the whole fleet, as a leaky bucket that holds a tenth of a second: the debt
-- counts millionths of a claim. How many may go, and how long until the next may. By a clock of its
-- own, since queue time pauses while no scheduler ticks.
local UNIT = 1000000
local function free_by_rate()
  local rate = m.max_per_second
  if rate == 0 then return math.huge, 0 end
  local full = math.max(1, math.floor(rate / 10)) * UNIT
  local at, offset = forward(m.debt_offset, m.debt_at)
  local passed = math.min(at - m.debt_at, 2 * UNIT)
  m.debt, m.debt_at = math.max(0, math.min(m.debt, full) - passed * rate), at
  m.debt_offset = offset
  local may = math.floor((full - m.debt) / UNIT)
  return may, may < 1 and math.ceil((m.debt + UNIT - full) / rate) or 0
end
local by_rate, rest = free_by_rate()
local count = math.min(tonumber(ARGV[2]), MOST, free, by_rate)

-- The fence is a time, so that none comes twice, also where the store has lost the last one.
if count > 0 then m.fence = math.max(wall, m.fence + 1) end
-- As texts: Redis would format the number for every command.
local lease = string.format('%.0f', now + m.lease)
local leases, entries, claimed = {}, {}, { number, m.fence }

local function take(sequence, attempts, visitor_id)
  local k = #leases
  leases[k + 1], leases[k + 2] = lease, sequence
  entries[k + 1], entries[k + 2] = sequence, entry(m.fence, attempts, visitor_id)
  claimed[#claimed + 1] = tonumber(sequence)
  hand_out(sequence, attempts, visitor_id)
end

local back = math.min(count, returned)
if back > 0 then
  local sequences = call('ZRANGE', RETURNED, 0, back - 1)
  for i, packed in ipairs(call('HMGET', TAKEN, unpack(sequences))) do
    local _, attempts, visitor_id = read_entry(packed)
    take(sequences[i], attempts, visitor_id)
  end
  call('ZREM', RETURNED, unpack(sequences))
end
if count > back then
  for _, visitor_id in ipairs(call('LPOP', LINE, count - back)) do
    m.head = m.head + 1
    take(string.format('%d', m.head), 0, visitor_id)
  end
end
-- Redis keeps what is small as a list, and walks along it for every member. A member that is too
-- long for that makes a table of it, which it stays until it is empty.
local LONG, WORTH_A_TABLE = string.rep('-', 65), 16
local makes_tables = count >= WORTH_A_TABLE and call('EXISTS', LEASES) == 0
if makes_tables then
  call('ZADD', LEASES, 0, LONG)
  call('HSET', TAKEN, LONG, '')
end

if count > 0 then
  call('ZADD', LEASES, unpack(leases))
  call('HSET', TAKEN, unpack(entries))
  local packed = struct.pack('>' .. string.rep('d', #claimed), unpack(claimed))
  call('SET', issuer, packed, 'PX', LAST_CLAIM_TTL)
  m.debt = m.debt + (m.max_per_second > 0 and count * UNIT or 0)
  save({ 'last', 'head', 'fence' })
end
if makes_tables then
  call('ZREM', LEASES, LONG)
  call('HDEL', TAKEN, LONG)
end
-- Also where nothing could be claimed: a clock that leapt back goes on from here.
if m.max_per_second > 0 then save({ 'debt', 'debt_at', 'debt_offset' }) end

local again = -1
if free > count and by_rate <= count then
  again = count > 0 and select(2, free_by_rate()) or rest
end
local next = call('ZRANGE', RETRY, 0, 0, 'WITHSCORES')[2]
if next then
  local till = math.max(0, tonumber(next) - now)
  again = again < 0 and till or math.min(again, till)
end
return {
  OK, m.fence, math.floor(m.lease / 1000), again, free > count and 1 or 0, m.issue, unpack(works),
}
