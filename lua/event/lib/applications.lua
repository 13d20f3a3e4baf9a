-- Where an application stands: what its record does not say follows from the sequence, and from
-- where that is found. Needs meta.lua, records.lua and lib/entity.lua.
-- KEYS: returned, retry, dead. ARGV: none. Reply: texts that stand behind each other, then of each
-- application two or three doubles; a part tells.

local out, used, texts = {}, 0, {}

-- Tells a code and a detail.
local function tell(code, detail, text)
  out[used + 1], out[used + 2] = code, detail
  used = used + 2
  if not text then return end
  used = used + 1
  out[used], texts[#texts + 1] = #text, text
end

-- State of one that is not in line; its position, when it was issued, or how long until the next
-- attempt (ms) where it is to be tried again; and code.
local function stands(record, sequence, state)
  if state == S_ISSUED then
    local _, _, at = read(ISSUED, record)
    return state, at, string.sub(record, CODE_AT)
  end
  if state == S_FAILED then return state, 0 end
  if sequence <= m.sold_out_below then return S_SOLD_OUT, 0 end
  local rank = call('ZRANK', RETURNED, sequence)
  if rank then return S_PENDING, rank + 1 end
  if call('ZSCORE', DEAD, sequence) then return S_FAILED, 0 end
  local due = call('ZSCORE', RETRY, sequence)
  if not due then return S_CLAIMED, 0 end
  read_clock()
  return S_CLAIMED, math.max(0, math.floor((due - now) / 1000))
end

local line_after, passed -- the last sequence that is not in line; how many sequences do not wait

-- Tells a code, and where the application of this record stands. Those in line first, of which
-- there may be a million.
local function tell_of(code, record)
  if not line_after then
    line_after = math.max(m.head, m.sold_out_below)
    passed = m.head - call('ZCARD', RETURNED)
  end
  local sequence, state = read('>I6B', record)
  if state == S_PENDING and sequence > line_after then
    out[used + 1], out[used + 2] = code + 16 * S_PENDING, sequence - passed
    used = used + 2
    return
  end
  local state, detail, text = stands(record, sequence, state)
  tell(code + 16 * state, detail, text)
end

local function told()
  return table.concat(texts), struct.pack('>' .. string.rep('d', used), unpack(out, 1, used))
end
