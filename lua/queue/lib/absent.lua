-- Who in line is absent. Needs what lib/seen.lua needs, and young.

-- Moves `young` on: places up to that ticket joined at least first_poll_ttl ago in heard time. The tickets
-- from one mark to the next joined within a second of it, and heard time may lag by one more.
local MARK_EVERY, MARK_CHUNK = 1000000, 64
local function age()
  local from = '(' .. string.format('%.0f', m.young or 0)
  local marks = call('ZRANGEBYSCORE', MARKS, from, '+inf', 'LIMIT', 0, MARK_CHUNK)
  for i, mark in ipairs(marks) do
    local heard = tonumber(string.match(mark, '^%d+:%d+:(%d+)'))
    if heard + 2 * MARK_EVERY + m.first_poll_ttl > (m.heard or 0) then return end
    if marks[i + 1] then
      m.young = tonumber(string.match(marks[i + 1], '^%d+')) - 1
    elseif i < MARK_CHUNK then
      m.young = m.ticket
    end
  end
end

-- For each of these tickets: false when present (young, or seen in a slot of the ring), else
-- S_AWAY, or ABANDONED when it was never seen although no slot since its join is forgotten.
local function absence(tickets)
  local found, ask, ring = {}, {}, read_ring()
  for i, ticket in ipairs(tickets) do
    found[i] = false
    if m.slot and ticket <= (m.young or 0) then ask[#ask + 1] = i end
  end
  for back = 0, 4 do
    if #ask == 0 or m.slot - back < 0 then break end
    local slot = (m.slot - back) % 5
    local base, get, asked, rest = ring[slot + 1], {}, {}, {}
    for _, i in ipairs(ask) do
      if tickets[i] >= base then
        get[#get + 1], get[#get + 2], get[#get + 3] = 'GET', 'u1', tickets[i] - base
        asked[#asked + 1] = i
      else
        rest[#rest + 1] = i
      end
    end
    if #asked > 0 then
      local bits = call('BITFIELD', KEYS[SEEN + 1 + slot], unpack(get))
      for k, i in ipairs(asked) do
        if bits[k] == 0 then rest[#rest + 1] = i end
      end
    end
    ask = rest
  end
  local forgotten = m.slot and m.slot >= 4 and ring[(m.slot + 1) % 5 + 6] or -1
  for _, i in ipairs(ask) do
    found[i] = tickets[i] > forgotten and ABANDONED or S_AWAY
  end
  return found
end
