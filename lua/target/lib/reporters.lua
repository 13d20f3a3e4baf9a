-- Who reports to a target: at most 64, the one heard last in front. Needs meta.lua.
-- KEYS: none. ARGV: none. Reply: none; a part keeps `reporters`.
--
-- Of each: 8 bytes of a digest of the name, when it was heard last (ms), and how long before that
-- its last failure was (ms).
local ENTRY, SIZE, MOST = '>c8I6I4', 18, 64
local NEVER = 4294967295

local failing -- how many reported a failure within the window, once that was counted

local function is_failing(heard, before)
  return before ~= NEVER and (heard - before) * 1000 > now - window
end

-- Forgets who has not been heard for one window.
local function forget_silent()
  local size = #reporters
  while size > 0 do
    local _, heard = struct.unpack(ENTRY, reporters, size - SIZE + 1)
    if heard * 1000 > now - window then break end
    size = size - SIZE
  end
  if size < #reporters then reporters = string.sub(reporters, 1, size) end
end

local function known()
  return #reporters / SIZE
end

-- Where a reporter stands.
local function find(name)
  local at = string.find(reporters, name, 1, true)
  while at and (at - 1) % SIZE ~= 0 do at = string.find(reporters, name, at + 1, true) end
  return at
end

-- Takes a reporter out; returns its last failure (ms), if it had one.
local function take(at)
  local _, heard, before = struct.unpack(ENTRY, reporters, at)
  if failing and is_failing(heard, before) then failing = failing - 1 end
  reporters = string.sub(reporters, 1, at - 1) .. string.sub(reporters, at + SIZE)
  return before ~= NEVER and heard - before
end

-- Notes that a reporter was heard. With 64 known, a further one takes the place of the last.
local function hear(name, has_failed)
  local at, failed = find(name), false
  if at then
    failed = take(at)
  elseif known() == MOST then
    take(#reporters - SIZE + 1)
  end
  local heard = floor(now / 1000)
  if has_failed then failed = heard end
  local before = failed and min(heard - failed, NEVER) or NEVER
  reporters = struct.pack(ENTRY, name, heard, before) .. reporters
  if failing and is_failing(heard, before) then failing = failing + 1 end
end

-- Whether the failures come from enough reporters: from `quorum` of them, once so many are known.
local function reach_quorum()
  if not failing then
    failing = 0
    for at = 1, #reporters, SIZE do
      local _, heard, before = struct.unpack(ENTRY, reporters, at)
      if is_failing(heard, before) then failing = failing + 1 end
    end
  end
  return failing >= max(1, min(quorum, known()))
end

-- Forgets all failures, and nobody.
local function forgive()
  local entries = {}
  for at = 1, #reporters, SIZE do
    local name, heard = struct.unpack(ENTRY, reporters, at)
    entries[#entries + 1] = struct.pack(ENTRY, name, heard, NEVER)
  end
  reporters, failing = table.concat(entries), 0
end
