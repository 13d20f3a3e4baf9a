-- Counters that are one string: read together when the first is needed, written together at the
-- end, however often a call decides on the same. Needs lib/store, counters.
-- KEYS: the counters of the call. ARGV: none. Reply: none; a part gives `value_of`, `keep`,
-- `write_kept`.
local values -- of each key; nil until one is needed
local changed, is_changed, ttls = {}, {}, {}

local function value_of(key)
  if not values then
    values = {}
    local keys = KEYS
    local found = call('MGET', unpack(keys))
    for i = 1, #keys do values[keys[i]] = found[i] end
  end
  return values[key]
end

-- Of one that is there already and whose TTL does, the value alone is written: all of an algorithm
-- have the same length.
local function keep(key, value, window, does)
  if not is_changed[key] then
    changed[#changed + 1], is_changed[key] = key, true
  end
  values[key] = value
  if not does then ttls[key] = 4 * window end
end

local function write_kept()
  for i = 1, #changed do
    local key = changed[i]
    if ttls[key] then
      call('SET', key, values[key], 'PX', text(ttls[key]))
    else
      call('SETRANGE', key, '0', values[key])
    end
  end
end
