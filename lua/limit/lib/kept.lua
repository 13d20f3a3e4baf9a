-- Counters that are one string: read together when the first is needed, written together at the
-- end, however often a call decides on the same. Needs lib/store.
-- KEYS: the counters of the call. ARGV: none. Reply: none; a part gives `value_of`, `keep`,
-- `write_kept`.
local values -- of each key; nil until one is needed
local changed, ttls = {}, {}

local function value_of(key)
  if not values then
    values = {}
    local keys = KEYS
    local found = call('MGET', unpack(keys))
    for i = 1, #keys do values[keys[i]] = found[i] end
  end
  return values[key]
end

-- A TTL of four windows is never less than two behind the last unit.
local function keep(key, value, window)
  if not ttls[key] then changed[#changed + 1] = key end
  values[key], ttls[key] = value, 4 * window
end

local function write_kept()
  for i = 1, #changed do
    local key = changed[i]
    call('SET', key, values[key], 'PX', ttls[key])
  end
end
