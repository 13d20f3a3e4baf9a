-- Places that end now. Needs gone_reasons.lua and addresses.lua.
local new_reasons, ended_tickets, missed = {}, {}, 0

-- Remembers why a place ended; write_gone_reasons() writes the reasons of this call.
local function end_place(id, ticket, reason)
  local field, packed = string.format('%.0f', ticket), id .. struct.pack('>Bd', reason, now)
  local k = #new_reasons
  new_reasons[k + 1], new_reasons[k + 2], reason_of[field] = field, packed, packed
  ended_tickets[#ended_tickets + 1] = ticket
  if reason == UNCLAIMED then missed = missed + 1 end
end

local function write_gone_reasons()
  if #ended_tickets > 0 then count_addresses().uncount(ended_tickets) end
  if #new_reasons > 0 then
    call('HSET', KEYS[GONE + counter('gone_period')], unpack(new_reasons))
  end
  if missed > 0 then call('HINCRBY', META, 'missed', missed) end
end
