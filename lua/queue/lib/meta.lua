-- The queue's keys, the reply codes, the meta hash and queue time. First part of every script.
local META, WAITING, RETURNED, AWAY, READY = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ACTIVE, ADMITTED, HELD, MARKS = KEYS[6], KEYS[7], KEYS[8], KEYS[11]
local GONE = 9 -- KEYS[GONE] and KEYS[GONE + 1]: the notes of the present period and of the one before, by turns
local SEEN = 11 -- KEYS[SEEN + 1] to KEYS[SEEN + 5]: the ring of last-seen bitmaps
local REVOKED = KEYS[17]

local call, ceil, ARGV = redis.call, math.ceil, ARGV

-- codes: one enum in Rust mirrors them
local OK, CREATED, NOT_READY, NOT_ACTIVE, FULL, CLOSED, IS_GONE, NO_RULES = 0, 1, 2, 3, 4, 5, 6, 7
-- statuses; only in records: waiting, out of reach of the bitmaps; active, in a short session (lib/session.lua)
local S_WAITING, S_READY, S_ACTIVE, S_AWAY, S_FAR, S_SHORT = 1, 2, 3, 4, 5, 6
-- reasons of gone places
local COMPLETED, LEFT, UNCLAIMED, EXPIRED, ABANDONED, EVICTED, LOST, ENDED = 1, 2, 3, 4, 5, 6, 7, 8
-- states of the queue
local OPEN, PAUSED, SHUT, BYPASS = 1, 2, 3, 4

local m -- the rules in force, the clock, and the fields of the meta hash that this script has loaded
local wall, now -- the store's clock and queue time, in microseconds

-- The rules as they are where a version wrote the others that did not know them: the defaults of the
-- configuration. As many as stand in lib/rules.lua.
local KNOWN_RULES = 17
local function default_rules()
  return {
    state = OPEN, reason = '', capacity = 0, batch = 0, interval = 10000000, pace = 1, claim_ttl = 60000000,
    session_ttl = 300000000, session_max = 1800000000, idle_ttl = 600000000, keep_ttl = 1800000000,
    first_poll_ttl = 60000000, max_waiting = 1000000, joins_at = 0, opens_at = 0, closes_at = 0,
    local_answers = 0,
  }
end

-- Loads the rules in force and these further fields (numbers; nil when absent) into `m`. False when the
-- store holds no rules for this queue.
local function load(fields)
  local values = call('HMGET', META, 'epoch', 'force', 'offset', 'last', 'tick', unpack(fields))
  if not values[1] then return false end
  m = cmsgpack.unpack(values[2])
  if m.known < KNOWN_RULES then
    for rule, value in pairs(default_rules()) do
      if m[rule] == nil then m[rule] = value end
    end
  end
  m.epoch = values[1]
  m.offset, m.last, m.tick = tonumber(values[3]), tonumber(values[4]), tonumber(values[5])
  for i = 1, #fields do m[fields[i]] = tonumber(values[i + 5]) end
  m.ticket = m.ticket or 0
  return true
end

-- To be called before a write that must go on when the store is full, since it frees memory in the end or
-- needs next to none. Redis refuses a command that may need memory only as the first write of a script.
local may_write = false
local function write_even_if_full()
  if may_write then return end
  may_write = true
  call('HDEL', META, '')
end

-- Whether the store has memory left; asked before the first write. From then on nothing is refused.
local function has_memory()
  local tried = redis.pcall('HSET', META, 'ticket', m.ticket)
  local full = type(tried) == 'table' and string.find(tried.err, 'OOM', 1, true)
  write_even_if_full()
  return not full
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

-- Redis keeps a hash of up to 512 short values as a list, and walks along it in each look-up; one long value makes
-- it a table. For each new life of the queue.
local function make_held_a_table()
  call('HSET', HELD, '-', string.rep('-', 65))
end

-- Queue time never goes back and runs at most this far past the last tick.
local STEP = 5000000

-- Queue time is the store's clock plus the stored offset, held in bounds.
local function read_clock()
  if ARGV[1] ~= '' then
    wall = tonumber(ARGV[1])
  else
    local time = call('TIME')
    wall = time[1] * 1000000 + time[2]
  end
  now = math.min(math.max(wall + m.offset, m.last), m.tick + STEP)
  m.last = now
end
