-- Calls that may answer places in line. Needs outlook.lua, outcomes.lua, and LINE_FIELDS
-- (shown.lua).

-- The reply: behind the outcomes what the expected waits follow from (outlook.lua).
local function reply_with_waits(promotes)
  local answer = reply()
  answer[4], answer[5] = outlook_now(promotes)
  return answer
end
