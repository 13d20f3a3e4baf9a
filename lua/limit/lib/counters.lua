-- What every counter needs, whatever its algorithm. Needs lib/store.
-- KEYS: none. ARGV: none. Reply: none; a part gives `text`, `ttl_does`.

local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- A number as Redis takes it. Most of a call are the same, and each is written once.
local texts = {}
local function text(number)
  local written = texts[number]
  if not written then
    written = string.format('%.0f', number)
    texts[number] = written
  end
  return written
end

-- Whether the TTL that was set with the units at `latest` still does: it is of four windows, and
-- set again with the first units of each window, so never less than three behind the last. Callers
-- may have different windows: that of the TTL is the longest.
local function ttl_does(latest, seconds, now, window)
  local span = 1000 * window
  return 1000 * seconds == window and floor(latest / span) == floor(now / span)
end

-- Each algorithm is a function of the key, the limit, the window (ms), the units that must fit and
-- those that are taken if they do; nothing else is written than what is taken, and the offset where
-- the store's clock leapt back. It returns whether the units fit, how many are left, in how many ms
-- all are back and in how many the units fit, and limit time.
