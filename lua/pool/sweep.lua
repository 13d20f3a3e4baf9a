-- pool.sweep: the tick of a pool: moves queue time on, takes back ended holds, sums up lines of the
-- ledger that are older than `ledger_keep`, and watches the store's primary.
-- Uses: lib/store lib/entity rules sums clock holds primary opening
-- KEYS: meta holds ledger
-- ARGV: now
-- Reply: OK, holds that ended, lines summed up, 1 when another call would find more, 1 when the
--        primary has changed; or NO_RULES
-- Codes: OK NO_RULES

if not load() then return { NO_RULES } end
write_even_if_full()
local changed = m.unconfirmed ~= 1 and watch_primary()
if m.unconfirmed == 1 and m.on_failover ~= ON_FAILOVER_HOLD then
  -- The rule has changed: no operator has to confirm any more.
  m.unconfirmed = 0
  save({ 'unconfirmed' })
  know_primary()
end
read_pool_clock()
-- What the clock leapt, back or ahead, becomes part of the offset: from here it runs on as before.
m.offset, m.tick = now - wall, now
save({ 'offset', 'tick' })
local swept, more = sweep_holds()
save_sums()

local MOST_SUMMED = 50
local function sum_up()
  local opening, summed = read_opening(), 0
  local first = lines_after(opening.seq, 1)[1]
  local function is_old(line)
    local _, _, _, _, at = struct.unpack(LINE, line[2])
    return at <= now - m.ledger_keep
  end
  if not first or not is_old(first) then return 0 end
  for _, line in ipairs(lines_after(opening.seq, MOST_SUMMED)) do
    if not is_old(line) then break end
    local kind, amount, released = struct.unpack(LINE, line[2])
    move(opening, kind, amount, released)
    opening.seq, summed = line[1], summed + 1
  end
  for field, sum in pairs(opening) do m['opening_' .. field] = sum end
  save({ 'opening_seq', 'opening_balance', 'opening_held', 'opening_paid', 'opening_funded' })
  call('XTRIM', LEDGER, 'MINID', string.format('%.0f-0', opening.seq + 1))
  return summed
end
local summed = sum_up()
more = more or summed == MOST_SUMMED
return { OK, swept, summed, more and 1 or 0, changed and 1 or 0 }
