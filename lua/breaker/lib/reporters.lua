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

-- Forgets who has not been heard for the longest window in use.
local function forget_silent()
  local size = #reporters
  while size > 0 do
    local _, heard = struct.unpack(ENTRY, reporters, size - SIZE + 1)
    if heard * 1000 > now - longest then break end
    size = size - SIZE
  end
  if size < #reporters then reporters = string.sub(reporters, 1, size) end
end

-- How many were heard within the call's window.
local function known()
  local size = #reporters
  if window < longest then
    while size > 0 do
      local _, heard = struct.unpack(ENTRY, reporters, size - SIZE + 1)
      if heard * 1000 > now - window then break end
      size = size - SIZE
    end
  end
  return size / SIZE
end

-- Of those heard in this call, whether one of their outcomes was a failure.
local has_failed_now = {}

-- Notes that a reporter was heard: it comes to the front. With 64 known, a further one takes the
-- place of the last.
local function hear(name, has_failed)
  -- Only with 64 of them does the order of those matter that were heard at the same time.
  if #reporters < MOST * SIZE then
    if has_failed_now[name] or has_failed_now[name] == has_failed then return end
    has_failed_now[name] = has_failed
  end
  local known_at, heard, since = string.find(reporters, name, 1, true), floor(now / 1000), NEVER
  while known_at and (known_at - 1) % SIZE ~= 0 do
    known_at = string.find(reporters, name, known_at + 1, true)
  end
  local at = known_at or #reporters == MOST * SIZE and #reporters - SIZE + 1
  if at then
    local _, before, failed = struct.unpack(ENTRY, reporters, at)
    if failing and is_failing(before, failed) then failing = failing - 1 end
    if known_at and failed ~= NEVER then since = min(heard - before + failed, NEVER) end
  end
  if has_failed then since = 0 end
  if failing and is_failing(heard, since) then failing = failing + 1 end
  local entry = struct.pack(ENTRY, name, heard, since)
  if at == 1 and string.sub(reporters, 1, SIZE) == entry then return end
  local front, behind = reporters, ''
  if at then front, behind = string.sub(front, 1, at - 1), string.sub(front, at + SIZE) end
  reporters = entry .. front .. behind
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

-- Clears all failures, but keeps the reporters.
local function forgive()
  local entries = {}
  for at = 1, #reporters, SIZE do
    local name, heard = struct.unpack(ENTRY, reporters, at)
    entries[#entries + 1] = struct.pack(ENTRY, name, heard, NEVER)
  end
  reporters, failing, has_failed_now = table.concat(entries), 0, {}
end
