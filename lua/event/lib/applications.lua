-- The state of an application: what its record does not hold follows from the sequence, and from
-- the set that the sequence is in. Needs meta.lua, records.lua and lib/entity.lua.
-- KEYS: returned, retry, dead. ARGV: none. Reply: texts behind each other, then of each application
-- two or three doubles; a part gives `answer`, `answer_state`, `answers`.

local out, used, texts = {}, 0, {}

-- Answers one application with a code and a detail.
local function answer(code, detail, text)
  out[used + 1], out[used + 2] = code, detail
  used = used + 2
  if not text then return end
  used = used + 1
  out[used], texts[#texts + 1] = #text, text
end

-- State of one that is not in line; its position, when it was issued, or how long until the next
-- attempt (ms) if it will be retried; and code.
local function state_of(record, sequence, state)
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

-- Answers with a code, and the state of the application of this record. Those in line first, of
-- which there may be a million.
local function answer_state(code, record)
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
  local state, detail, text = state_of(record, sequence, state)
  answer(code + 16 * state, detail, text)
end

local function answers()
  return table.concat(texts), struct.pack('>' .. string.rep('d', used), unpack(out, 1, used))
end
