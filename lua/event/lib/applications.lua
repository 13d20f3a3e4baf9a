-- Where an application stands: what its record does not say follows from the sequence, and from
-- where that is found. Needs meta.lua, records.lua and lib/entity.lua.
-- KEYS: returned, retry, dead. ARGV: none. Reply: texts that stand behind each other, then of each
-- application two or three doubles; a part tells.

local returned -- how many wait again before the line

-- Its state; the position of a pending one, when an issued one was, or how long until the next
-- attempt (ms) of one that is to be tried again; and the code.
local function stands(record)
  local sequence, state = read('>I6B', record)
  if state == S_ISSUED then
    local _, _, at = read(ISSUED, record)
    return state, at, string.sub(record, CODE_AT)
  end
  if state == S_FAILED then return state, 0 end
  if sequence <= m.sold_out_below then return S_SOLD_OUT, 0 end
  if sequence > m.head then
    returned = returned or call('ZCARD', RETURNED)
    return S_PENDING, sequence - m.head + returned
  end
  local rank = call('ZRANK', RETURNED, sequence)
  if rank then return S_PENDING, rank + 1 end
  if call('ZSCORE', DEAD, sequence) then return S_FAILED, 0 end
  local due = call('ZSCORE', RETRY, sequence)
  if not due then return S_CLAIMED, 0 end
  read_clock()
  return S_CLAIMED, math.max(0, math.floor((due - now) / 1000))
end

local out, used, texts = {}, 0, {}

-- Tells a code, and what `stands` found, or another detail.
local function tell(code, state, detail, text)
  out[used + 1], out[used + 2] = code + 16 * state, detail
  used = used + 2
  if not text then return end
  used = used + 1
  out[used], texts[#texts + 1] = #text, text
end

local function told()
  return table.concat(texts), struct.pack('>' .. string.rep('d', used), unpack(out, 1, used))
end
