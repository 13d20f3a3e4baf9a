-- event.finish: applications that an issuer has issued, each while its claim holds; with codes each
-- gets one. With the last unit all that still wait are sold out.
-- Uses: lib/store lib/entity meta records taken sums held
-- KEYS: meta applications line taken leases codes
-- ARGV: now, fence, (application)*
--       (14 bytes of a digest of its visitor, and its sequence)
-- Reply: OK, codes, outcomes: three doubles for each, a code (OK, LOST, LACKING), the ms since it
--        was made (-1: it was finished before) and the length of its code; or NO_RULES
-- Codes: OK LOST LACKING NO_RULES

if not load({
  'given', 'issued', 'head', 'tail', 'sold_out', 'sold_out_below', 'failed', 'grace_from',
  'grace_until',
}) then
  return { NO_RULES }
end
read_clock()
write_even_if_full()

local fence = tonumber(ARGV[2])
local sequences, digests = {}, {}
for at = 3, #ARGV do
  digests[at - 2], sequences[at - 2] = string.sub(ARGV[at], 1, 14), string.sub(ARGV[at], 15)
end
local records = call('HMGET', APPLICATIONS, unpack(digests))
local claims = held(sequences, fence)

-- What is this issuer's to finish, in order, each once.
local mine, is_mine = {}, {}
for i, sequence in ipairs(sequences) do
  local record = records[i]
  local is_its = record and read('>I6', record) == tonumber(sequence)
  if claims[i] and is_its and not is_mine[sequence] then
    mine[#mine + 1], is_mine[sequence] = i, true
  else
    claims[i] = false
  end
end
local codes = m.issue == ISSUE_CODES and #mine > 0 and call('LPOP', CODES, #mine) or {}

-- Whether an earlier call under the same fence has issued it: a repeat returns the same.
local function is_repeat(i)
  local record = records[i]
  if not record or #record < CODE_AT - 1 then return false end
  local sequence, state, _, bits = read(ISSUED, record)
  return sequence == tonumber(sequences[i]) and state == S_ISSUED and bits == fence % FENCE_BITS
end

local fields, ended, texts, numbers = {}, {}, {}, {}
local function answer(i, code, waited, text)
  numbers[3 * i - 2], numbers[3 * i - 1], numbers[3 * i] = code, waited, #text
  texts[i] = text
end

local second = math.floor(wall / 1000000)
local function issue(i, text)
  local _, _, made = read(RECORD, records[i])
  local issued = struct.pack(ISSUED, tonumber(sequences[i]), S_ISSUED, second, fence % FENCE_BITS)
  fields[#fields + 1], fields[#fields + 2] = digests[i], issued .. text
  ended[#ended + 1] = sequences[i]
  answer(i, OK, math.max(0, math.floor(now / 1000) - made), text)
end

local given_out = 0
for i = 1, #sequences do
  if claims[i] and m.issue == ISSUE_CODES and not codes[given_out + 1] then
    answer(i, LACKING, -1, '')
  elseif claims[i] then
    given_out = given_out + 1
    issue(i, codes[given_out] or '')
  elseif is_repeat(i) then
    answer(i, OK, -1, string.sub(records[i], CODE_AT))
  else
    answer(i, LOST, -1, '')
  end
end

if #ended > 0 then
  call('HSET', APPLICATIONS, unpack(fields))
  call('HDEL', TAKEN, unpack(ended))
  call('ZREM', LEASES, unpack(ended))
  m.issued = m.issued + #ended
  -- Behind the last unit none can come back: no application is claimed or dead.
  if m.issued >= m.given and m.tail > m.sold_out_below then
    m.sold_out, m.sold_out_below = m.sold_out + m.tail - m.head, m.tail
    m.head = m.tail
    call('UNLINK', LINE)
    copy_sums()
  end
  save({ 'last', 'issued', 'head', 'sold_out', 'sold_out_below' })
end
return {
  OK, table.concat(texts), struct.pack('>' .. string.rep('d', #numbers), unpack(numbers)),
}
