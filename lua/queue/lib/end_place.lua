-- Places that are gone from now on. Needs gone_reasons.lua and addresses.lua.
local notes, ended_tickets = {}, {}

-- Notes why a place is gone; write_gone_reasons() writes what this call has noted.
local function end_place(id, ticket, reason)
  local field, note = string.format('%.0f', ticket), id .. struct.pack('>Bd', reason, now)
  local k = #notes
  notes[k + 1], notes[k + 2], noted[field] = field, note, note
  ended_tickets[#ended_tickets + 1] = ticket
end

local function write_gone_reasons()
  if #ended_tickets > 0 then count_addresses().uncount(ended_tickets) end
  if #notes > 0 then call('HSET', KEYS[GONE + counter('gone_period')], unpack(notes)) end
end
