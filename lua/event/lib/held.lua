-- Who still holds a claim: judged by the fence and by the end of the lease, reclaimed or not. Needs
-- taken.lua.
-- KEYS: taken, leases. ARGV: none. Reply: none; a part gives `held`.

-- For each of these sequences its entry, when the claim under this fence holds, else false.
local function held(sequences, fence)
  local entries = call('HMGET', TAKEN, unpack(sequences))
  for i, till in ipairs(call('ZMSCORE', LEASES, unpack(sequences))) do
    if not till or tonumber(till) <= now or read_entry(entries[i]) ~= fence then
      entries[i] = false
    end
  end
  return entries
end
