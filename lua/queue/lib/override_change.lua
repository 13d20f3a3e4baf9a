-- Logs which overrides in force a call has changed. Needs lib/changes.lua and rules.lua.
-- KEYS: changes. ARGV: the end of the overrides and the operator, by override_rules.lua. Reply:
-- none; a part gives `log_overrides`.
--
-- An entry of overrides has one more array: their end (s of Redis time, 0: none), then 4 values
-- for each changed rule. These are its number in RULES, the value before (false: no override), the
-- end before, and the value after. Reasons are cut so that the entry with its id has at most
-- CHANGE_BYTES.
local CHANGE_BYTES, ID_BYTES = 512, 8
-- MessagePack needs 2 bytes more for the head of a text longer than 31 bytes than of an empty text.
local LONGER_HEAD = 2
local CUT = '…'

-- A text of at most `most` bytes, cut between two characters.
local function shortened(text, most)
  if #text <= most then return text end
  local last = math.max(most - #CUT, 0)
  -- In UTF-8, every byte of a character except the first is from 128 to 191.
  while last > 0 and math.floor(string.byte(text, last + 1) / 64) == 2 do last = last - 1 end
  return string.sub(text, 1, last) .. CUT
end

-- `changed` has for each rule that the call names the override before it, or false.
local function log_overrides(changed, overrides)
  local entry, reason = { math.floor(tonumber(ARGV[7]) / 1000000) }, nil
  for number, rule in ipairs(RULES) do
    local was, is = changed[rule], overrides[rule]
    was, is = was and holds(was) and was, is and holds(is) and is
    local is_same = was and is and was[1] == is[1] and was[2] == is[2]
    if changed[rule] ~= nil and (was or is) and not is_same then
      local n, value = #entry, tonumber
      if rule == 'reason' then
        reason, value = n, function(text) return text end
      end
      entry[n + 1], entry[n + 2] = number, was and value(was[1]) or false
      entry[n + 3] = was and math.floor(was[2] / 1000000) or 0
      entry[n + 4] = is and value(is[1]) or false
    end
  end
  if #entry == 1 then return end
  local function packed() return pack_change(ARGV[10], 'queue.override_rules', 0, {}, {}, entry) end
  local text = packed()
  if reason and ID_BYTES + #text > CHANGE_BYTES then
    local before, after = entry[reason + 2] or '', entry[reason + 4] or ''
    entry[reason + 2], entry[reason + 4] = entry[reason + 2] and '', entry[reason + 4] and ''
    local room = CHANGE_BYTES - ID_BYTES - #packed() - 2 * LONGER_HEAD
    after = shortened(after, math.max(room - #before, math.floor(room / 2)))
    before = shortened(before, room - #after)
    entry[reason + 2] = entry[reason + 2] and before
    entry[reason + 4] = entry[reason + 4] and after
    text = packed()
  end
  log_packed(CHANGES, 0, text)
end
