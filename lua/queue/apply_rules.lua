-- queue.apply_rules: writes rules. `file`: the rules of a configuration file, when they differ from the
-- stored ones; `absent`: the same, only if the store holds none; `override`: named rules until an end.
-- The first rules give the queue its epoch.
-- Uses: meta revoked rules
-- KEYS: the queue's keys, in the order of lua/README.md
-- ARGV: now (µs, empty: the store's clock), mode (file, absent, override), epoch to take if there is none,
--       end (µs, 0 none; overrides only), then name and value pairs ('-': takes an override back)
-- Reply: OK, written (1 or 0); or NO_RULES for an override of a queue without rules
-- Codes: OK NO_RULES

local known = load({})
local mode, epoch, till = ARGV[2], ARGV[3], ARGV[4]
if mode == 'override' and not known then return { NO_RULES } end
if mode == 'absent' and known then return { OK, 0 } end
if not known then m = { offset = 0, last = 0, tick = math.huge } end
read_clock()

local set, unset = {}, {}
if mode == 'override' then
  for i = 5, #ARGV, 2 do
    local over, ends = 'over:' .. ARGV[i], 'until:' .. ARGV[i]
    if ARGV[i + 1] == '-' then
      unset[#unset + 1], unset[#unset + 2] = over, ends
    else
      local k = #set
      set[k + 1], set[k + 2], set[k + 3], set[k + 4] = over, ARGV[i + 1], ends, till
    end
  end
else
  for i = 5, #ARGV, 2 do
    local field = 'file:' .. ARGV[i]
    if call('HGET', META, field) ~= ARGV[i + 1] then
      set[#set + 1], set[#set + 2] = field, ARGV[i + 1]
    end
  end
  if known and #set == 0 then return { OK, 0 } end
  if not known then
    call('HSET', META, 'epoch', epoch, 'offset', 0, 'tick', wall, 'last', wall)
  end
end
write_even_if_full()
if #set > 0 then call('HSET', META, unpack(set)) end
if #unset > 0 then call('HDEL', META, unpack(unset)) end
settle_rules()
return { OK, 1 }
