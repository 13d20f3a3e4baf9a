-- The opening of a ledger: what its lines that are gone come to. Needs sums.lua.
-- KEYS: meta ledger. ARGV: now, by store.lua. Reply: none; a part reads lines and the opening.

local function read_opening()
  local kept = call('HMGET', META, 'opening_seq', 'opening_balance', 'opening_held',
    'opening_paid', 'opening_funded')
  return {
    seq = tonumber(kept[1] or 0), balance = tonumber(kept[2] or 0), held = tonumber(kept[3] or 0),
    paid = tonumber(kept[4] or 0), funded = tonumber(kept[5] or 0),
  }
end

-- At most so many lines behind a number: of each its number and its packed text.
local function lines_after(seq, count)
  local lines = call('XRANGE', LEDGER, string.format('%.0f-0', seq + 1), '+', 'COUNT', count)
  for at, line in ipairs(lines) do
    lines[at] = { tonumber(string.match(line[1], '^%d+')), line[2][2] }
  end
  return lines
end
