-- Calls of operators that Redis can get twice: each is executed once. Needs lib/entity.lua.
-- KEYS: meta. ARGV: none; a script names the id of the call, 8 random bytes. Reply: none; a part
-- gives `earlier` and `keep`.

-- A call counts for as long as a request lasts, 1 s unless configured otherwise. So few are enough.
local CALLS_KEPT = 16
local calls = {} -- the newest: the id of each, and what it has made

-- What an earlier sending of this call has made, or nil.
local function earlier(id)
  local packed = call('HGET', META, 'calls')
  if packed then calls = cmsgpack.unpack(packed) end
  for i = 1, #calls, 2 do
    if calls[i] == id then return calls[i + 1] end
  end
end

-- Keeps what this call has made.
local function keep(id, made)
  local n = #calls
  calls[n + 1], calls[n + 2] = id, made
  local from = math.max(1, n + 3 - 2 * CALLS_KEPT)
  write_even_if_full()
  call('HSET', META, 'calls', cmsgpack.pack({ unpack(calls, from) }))
end
