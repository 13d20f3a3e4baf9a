-- event.apply: an application of each visitor: the one it made, whatever has come of it, or a new
-- one at the end of the line, while the event takes any and units may be left for it.
-- Uses: lib/store lib/entity lib/memory meta records applications wake
-- KEYS: meta applications line taken returned retry dead
-- ARGV: now, wake, (visitor)*
--       (the channel of the issuers; 14 bytes of a digest and the visitor_id)
-- Reply: OK, codes of issued ones, outcomes: two doubles for each visitor, code + 16 * state and a
--        detail (lib/applications.lua; NOT_OPEN: ms until it opens, 0 when it is over), for an
--        issued one a third, the length of its code; or NO_RULES
-- Codes: OK CREATED SOLD_OUT NOT_OPEN FULL NO_RULES

local FIRST, DIGEST = 3, 14

if not load({ 'given', 'issued', 'head', 'tail', 'sold_out_below', 'is_dropped' }) then
  return { NO_RULES }
end
read_clock()

local digests = {}
for at = FIRST, #ARGV do digests[at - FIRST + 1] = string.sub(ARGV[at], 1, DIGEST) end
local records = call('HMGET', APPLICATIONS, unpack(digests))

-- How many new ones are taken; when there are none left, why, and a detail. All that are on their
-- way to a unit count, so with `over_apply` more of them than there is stock.
local function judge()
  -- The visitors who applied before are not known any more, and would get another unit.
  if m.is_dropped == 1 then return 0, NOT_OPEN, 0 end
  if wall < m.opens_at then return 0, NOT_OPEN, math.ceil((m.opens_at - wall) / 1000) end
  if m.ends_at ~= 0 and wall >= m.ends_at then return 0, NOT_OPEN, 0 end
  if m.issued >= m.given then return 0, SOLD_OUT, 0 end
  if not has_memory() then return 0, FULL, 0 end
  local on_their_way = m.issued + call('HLEN', TAKEN) + m.tail - m.head
  return math.floor(m.given * m.over_apply / 1000000) - on_their_way, SOLD_OUT, 0
end

local left, refusal, detail
local fields, line, made, before = {}, {}, {}, m.tail
for i, digest in ipairs(digests) do
  local record = records[i] or made[digest]
  if record then
    answer_state(OK, record)
  else
    if not left then left, refusal, detail = judge() end
    if left < 1 then
      answer(refusal, detail)
    else
      left, m.tail = left - 1, m.tail + 1
      record = struct.pack(RECORD, m.tail, S_PENDING, math.floor(now / 1000))
      made[digest], line[#line + 1] = record, string.sub(ARGV[FIRST + i - 1], DIGEST + 1)
      fields[2 * #line - 1], fields[2 * #line] = digest, record
      answer_state(CREATED, record)
    end
  end
end

if #line > 0 then
  call('HSET', APPLICATIONS, unpack(fields))
  call('RPUSH', LINE, unpack(line))
  save({ 'last', 'tail' })
  -- Issuers that work come back for more by themselves.
  if before == m.head then wake() end
end
return { OK, answers() }
