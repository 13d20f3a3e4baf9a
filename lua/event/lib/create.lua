-- Creates an event: its first rules give it the stock that they name, once; its first application
-- fixes how its units are issued. Needs lib/file_rules.lua and sums.lua.
-- KEYS: meta applications line taken leases returned retry dead. ARGV: none. Reply: none; a part
-- gives `fixed_rules`, `create`.

-- An application for a code, or for what a receiver gives, must not be counted as issued instead.
local function fixed_rules()
  local tail = is_known and call('HGET', META, 'tail')
  return tail and tail ~= '0' and { issue = m.issue } or {}
end

-- An event that Redis did not know keeps what is left of its sets: nothing, or everything if its
-- meta hash alone is lost. Each application has a record. Those that are neither in line nor taken
-- have ended: they count as issued unless they were sold out or failed, so that no unit is issued
-- twice. If the sets contradict each other, more than the meta hash is lost: then all open
-- applications are sold out.
local function create()
  if is_known then return end
  m.tail = read_copy()
  local line, taken = call('LLEN', LINE), call('HLEN', TAKEN)
  local standing = 0
  for _, set in ipairs({ LEASES, RETURNED, RETRY, DEAD }) do
    standing = standing + call('ZCARD', set)
  end
  if standing ~= taken or line + taken > m.tail then
    call('UNLINK', LINE, TAKEN, LEASES, RETURNED, RETRY, DEAD)
    line, taken = 0, 0
  end
  m.head = m.tail - line
  m.issued = math.max(0, m.head - taken - m.sold_out - m.failed)
  if taken == 0 then m.sold_out_below = m.head end
  m.given = math.max(m.given, m.issued + taken)
  save({ 'given', 'issued', 'tail', 'head', 'sold_out_below', 'sold_out', 'failed' })
  copy_sums()
end
