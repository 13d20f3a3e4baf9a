-- Holds: what they have reserved, and when they end. Needs lib/entity.lua, sums.lua and clock.lua.
-- KEYS: meta holds ledger. ARGV: now, by store.lua. Reply: none; a part reads and ends them.
--
-- A hold is over when its stored time has come, taken back or not.
local MOST_SWEPT = 50

local function member_of(id, amount) return id .. struct.pack('>d', amount) end

-- Takes back what ended holds had reserved, while money may move; how many, and whether there may
-- be more.
local function sweep_holds()
  if is_unconfirmed() then return 0, false end
  local ended = call('ZRANGEBYSCORE', HOLDS, '-inf', now, 'LIMIT', 0, MOST_SWEPT)
  if #ended == 0 then return 0, false end
  write_even_if_full()
  for _, member in ipairs(ended) do
    record(EXPIRED, 0, struct.unpack('>d', member, 17), string.sub(member, 1, 16))
  end
  call('ZREM', HOLDS, unpack(ended))
  m.holds_expired = (m.holds_expired or 0) + #ended
  save({ 'holds_expired' })
  return #ended, #ended == MOST_SWEPT
end

-- The record of a hold: its end, the fingerprint of the call, the state that it was left in, what
-- it reserved, what was settled, and the balance after it.
local RECORD = '>dc8Bddd'

-- Keeps a record for a day past the end of its hold, and no TTL decides that.
local function write_hold(hold)
  local left = 2 * (math.max(hold.ends - now, 0) + DAY) / 1000
  local packed = struct.pack(RECORD, hold.ends, hold.fingerprint, hold.state, hold.amount,
    hold.settled, hold.balance)
  call('SET', hold.key, packed, 'PX', string.format('%.0f', left))
end

-- The hold under this key; nil when there is none.
local function read_hold(key)
  local packed = call('GET', key)
  if not packed then return nil end
  local ends, fingerprint, state, amount, settled, balance = struct.unpack(RECORD, packed)
  if ends <= now - DAY then return nil end
  if state == HELD and ends <= now then state = EXPIRED end
  return {
    key = key, id = string.sub(key, -16), ends = ends, fingerprint = fingerprint, state = state,
    amount = amount, settled = settled, balance = balance,
  }
end

-- Ends the reservation of a hold; how much it still was.
local function free(hold)
  local was = call('ZREM', HOLDS, member_of(hold.id, hold.amount))
  return was == 1 and hold.amount or 0
end
