-- The reply of calls that can answer for places in line. Needs outlook.lua, outcomes.lua, and
-- LINE_FIELDS (shown.lua).

-- The outcomes, then the numbers for expected waits (outlook.lua).
local function reply_with_waits(promotes)
  local answer = reply()
  answer[4], answer[5] = outlook_now(promotes)
  return answer
end
