-- The rate of the last five minutes, from the promotions really made. Needs bin_at, bin_count, dropped.
--
-- Promotions are counted in bins of 5 s (or one interval, if that is longer). A bin in which the line ran
-- empty, or promotion was not allowed, says nothing about the service and is left out.
local MAX_BINS, RATES_KEPT = 60, 300000000

-- Counts n promotions; `busy`: places were waiting and promotion was allowed.
local function rate_bin(n, busy)
  local length = math.max(5000000, m.interval)
  if not busy then
    if m.bin_at and m.bin_at > 0 then
      m.bin_at = 0
      call('HSET', META, 'bin_at', 0)
    end
    return
  end
  if not m.bin_at or m.bin_at == 0 then
    m.bin_at, m.bin_count, m.dropped = now, 0, 0
  elseif now - m.bin_at >= length then
    local packed = call('HGET', META, 'rates')
    local bins, kept = packed and cmsgpack.unpack(packed) or {}, {}
    bins[#bins + 1] = { now, now - m.bin_at, m.bin_count, m.dropped }
    local rates, count, dropped = {}, 0, 0
    for i = math.max(1, #bins - MAX_BINS + 1), #bins do
      if bins[i][1] > now - math.max(RATES_KEPT, 5 * length) then
        kept[#kept + 1] = bins[i]
        rates[#rates + 1] = math.floor(bins[i][3] * 1000000 / (bins[i][2] / 1000000))
        count, dropped = count + bins[i][3], dropped + bins[i][4]
      end
    end
    table.sort(rates)
    m.rate = rates[math.ceil(#rates / 2)]
    m.rate_slow = rates[math.ceil(#rates / 10)]
    m.drop = count + dropped > 0 and math.floor(dropped * 1000000 / (count + dropped)) or 0
    call('HSET', META, 'rates', cmsgpack.pack(kept))
    save({ 'rate', 'rate_slow', 'drop' })
    m.bin_at, m.bin_count, m.dropped = now, 0, 0
  end
  m.bin_count = (m.bin_count or 0) + n
  save({ 'bin_at', 'bin_count', 'dropped' })
end
