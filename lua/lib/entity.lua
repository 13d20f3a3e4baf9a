-- An entity whose rules the store keeps: its meta hash, and its queue time.
-- KEYS: meta. ARGV: now, by store.lua. Reply: none; a part sets `m` and `now`. Needs store.lua.
local m -- the rules in force, the clock, and the fields of the meta hash that the script has loaded
local now -- queue time, in microseconds

-- Loads the rules in force and these further fields into `m`: numbers, or packed texts; nil when
-- absent. False when the store holds no rules for this entity.
local function load_meta(fields)
  local values = call('HMGET', META, 'epoch', 'force', 'offset', 'last', 'tick', unpack(fields))
  if not values[1] then return false end
  m = cmsgpack.unpack(values[2])
  m.epoch = values[1]
  m.offset, m.last, m.tick = tonumber(values[3]), tonumber(values[4]), tonumber(values[5])
  for i = 1, #fields do m[fields[i]] = tonumber(values[i + 5]) or values[i + 5] or nil end
  -- A rule that the version which wrote the others did not know has its default.
  if m.known < KNOWN_RULES then
    for rule, value in pairs(DEFAULT_RULES) do
      if m[rule] == nil then m[rule] = value end
    end
  end
  return true
end

-- Queue time never goes back and runs at most this far past the last tick.
local STEP = 5000000

-- Queue time is the store's clock plus the stored offset, held in bounds.
local function read_clock()
  read_wall()
  now = math.min(math.max(wall + m.offset, m.last), m.tick + STEP)
  m.last = now
end

-- To be called before a write that must go on when the store is full, since it frees memory in the
-- end or needs next to none. Redis refuses a command that may need memory only as the first write
-- of a script.
local may_write = false
local function write_even_if_full()
  if may_write then return end
  may_write = true
  call('HDEL', META, '')
end

-- Writes fields of `m` back.
local function save(fields)
  write_even_if_full()
  local flat = {}
  for i = 1, #fields do
    flat[2 * i - 1], flat[2 * i] = fields[i], m[fields[i]] or 0
  end
  call('HSET', META, unpack(flat))
end
