-- Calls that their callers named: what such a call did is not done again. Needs store.lua.
-- KEYS: one for each name. ARGV: now, by store.lua. Reply: none; a part gives `repeated`,
-- `remember`.
--
-- The key of a name holds when the call was made, in the caller's clock, and its fingerprint, a
-- digest of its request; behind that a note, where a repeat needs more to be answered.

-- Whether the call of this name was made after `since`: nil when it was not, false when it had
-- another fingerprint then; and the note.
local function repeated(key, fingerprint, since)
  local made = call('GET', key)
  if not made or struct.unpack('>d', made) <= since then return nil end
  return string.sub(made, 9, 8 + #fingerprint) == fingerprint, string.sub(made, 9 + #fingerprint)
end

-- The TTL (ms) of the key of a PATCH or a reset: twice the maximum of `store.request_timeout`.
local OPERATOR_CALL_TTL = 120000

-- Notes a call that was made now. The key may be forgotten after `ttl` (ms).
local function remember(key, fingerprint, now, ttl)
  call('SET', key, struct.pack('>d', now) .. fingerprint, 'PX', string.format('%.0f', ttl))
end
