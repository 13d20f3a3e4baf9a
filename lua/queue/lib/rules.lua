-- The rules in force: the file's, with each override until its own end. The meta hash keeps them in
-- two packed parts, `file` (rule → value) and `over` (rule → value and end), each under a revision
-- that only grows, and as `force` what follows from both, with the times of the store's clock
-- between which it does. Needs withheld.lua.

-- An override is kept this long past its end: a clock that leapt ahead may leap back.
local ENDED_KEPT = 86400000000

local function read_overrides() return cmsgpack.unpack(call('HGET', META, 'over')) end

-- Whether an override, { value, end }, is in force.
local function holds(override) return override[2] == 0 or wall < override[2] end

-- Works out the rules in force by the store's clock, and between which changes they are; writes all
-- three.
local function settle_rules()
  write_even_if_full()
  local file, over = cmsgpack.unpack(call('HGET', META, 'file')), read_overrides()
  local force = { last_change = 0, next_change = 0, known = KNOWN_RULES, overrides_batch = 0 }
  local defaults = DEFAULT_RULES
  local answered, dropped = m.local_answers or 0, false
  for _, rule in ipairs(RULES) do
    local value, override = file[rule] or defaults[rule], over[rule]
    local till = override and override[2] or 0
    if override and holds(override) then
      value = override[1]
      if rule == 'batch' then force.overrides_batch = 1 end
    elseif override and wall < till + ENDED_KEPT then
      force.last_change = math.max(force.last_change, till)
      till = till + ENDED_KEPT
    elseif override then
      over[rule], dropped, till = nil, true, 0
    end
    if till ~= 0 and (force.next_change == 0 or till < force.next_change) then
      force.next_change = till
    end
    force[rule] = rule == 'reason' and value or tonumber(value)
  end
  for field, value in pairs(force) do m[field] = value end
  if dropped then call('HSET', META, 'over', cmsgpack.pack(over)) end
  call('HSET', META, 'force', cmsgpack.pack(force))
  if m.local_answers ~= answered then switch_local_answers() end
end

-- Applies the end of an override that has come since the last call, or that the clock has leapt
-- back behind; and takes in what an older version did not know.
local function refresh_rules()
  if
    wall < m.last_change
    or (m.next_change ~= 0 and wall >= m.next_change)
    or m.known < KNOWN_RULES
    or not m.overrides_batch
  then
    settle_rules()
  end
end
