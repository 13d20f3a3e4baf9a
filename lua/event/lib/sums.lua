-- The sums of an event that cannot be counted from its sets: a copy is stored with the
-- applications, so that an event whose meta hash alone is lost keeps them. Needs lib/entity.lua.
-- KEYS: applications. ARGV: none. Reply: none; a part gives `copy_sums`, `read_copy`.
local COPY, COPIED = '', '>dddd' -- its field; given, sold_out_below, sold_out, failed

-- To be called where one of the four has changed.
local function copy_sums()
  local packed = struct.pack(COPIED, m.given, m.sold_out_below, m.sold_out, m.failed)
  call('HSET', APPLICATIONS, COPY, packed)
end

-- Puts them into `m`, without a copy as of a new event; how many applications there are.
local function read_copy()
  local packed, fields = call('HGET', APPLICATIONS, COPY), call('HLEN', APPLICATIONS)
  m.given, m.sold_out_below, m.sold_out, m.failed = m.stock, 0, 0, 0
  if not packed then return fields end
  m.given, m.sold_out_below, m.sold_out, m.failed = struct.unpack(COPIED, packed)
  return fields - 1
end
