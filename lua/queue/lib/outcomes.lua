-- Calls of visitors: many items in one call, one outcome per item, in order.
-- The outcomes are one string of doubles (8 bytes each, most significant first). Each begins with
-- code + 8 * status (or the reason when gone) + 128 * value. Of a waiting place the value is its
-- position, and its turn follows; else it is left_ms.
local out, used = {}, 0

-- Identities whose place this call has moved (its record, true when that is written), or ended
-- (false): what it read of them before is not true any more.
local changed = {}

local function doubles(n)
  return '>' .. string.rep('d', n)
end

local function answer(code, status, value)
  used = used + 1
  out[used] = code + 8 * status + 128 * value
end

-- The reply: OK, the epoch, the outcomes.
local function reply()
  return { OK, m.epoch, struct.pack(doubles(used), unpack(out, 1, used)) }
end
