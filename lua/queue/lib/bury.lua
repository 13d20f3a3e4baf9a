-- Places that are gone from now on. Needs notes.lua and addresses.lua.
local notes, buried = {}, {}

-- Notes why a place is gone; write_notes() writes what this call has noted.
local function bury(id, ticket, reason)
  local field, note = string.format('%.0f', ticket), id .. struct.pack('>Bd', reason, now)
  local k = #notes
  notes[k + 1], notes[k + 2], noted[field] = field, note, note
  buried[#buried + 1] = ticket
end

local function write_notes()
  if #buried > 0 then count_addresses().uncount(buried) end
  if #notes > 0 then call('HSET', KEYS[GONE + counter('gone_period')], unpack(notes)) end
end
