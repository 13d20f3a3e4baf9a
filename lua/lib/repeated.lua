-- Calls that their callers named: what such a call did is not done again. Needs store.lua.
-- KEYS: one for each name. ARGV: now, by store.lua. Reply: none; a part gives `repeated`, `remember`.
--
-- The key of a name holds when the call was made, in the caller's clock, and a digest of what it
-- said; behind that a note, where a repeat needs more than the digest to be answered.

-- Whether the call of this name was made after `since`: nil when it was not, false when it said
-- something else then; and the note.
local function repeated(key, said, since)
  local made = call('GET', key)
  if not made or struct.unpack('>d', made) <= since then return nil end
  return string.sub(made, 9, 8 + #said) == said, string.sub(made, 9 + #said)
end

-- Notes a call that was made now. The key may be forgotten after `ttl` (ms).
local function remember(key, said, now, ttl)
  call('SET', key, struct.pack('>d', now) .. said, 'PX', string.format('%.0f', ttl))
end
