-- Applications that have left the line and have not ended: claimed, given back, waiting for a
-- retry, or dead. Each has an entry, and its sequence is in one of four sets. Needs lib/entity.lua.
-- KEYS: none. ARGV: none. Reply: none; a part reads and writes entries.
--
-- An entry holds the fence of the last claim, the attempts that failed, and the visitor_id; of a
-- dead one behind it when it died (s of the store's clock) and of what.
local ENTRY = '>dI2s'

local function entry(fence, attempts, visitor_id)
  return struct.pack(ENTRY, fence, attempts, visitor_id)
end

local function read_entry(packed) return struct.unpack(ENTRY, packed) end

-- Pairs of a sequence and its score, as ZADD takes them, for sets in which both are the same.
local function by_sequence(sequences)
  local pairs = {}
  for i, sequence in ipairs(sequences) do
    pairs[2 * i - 1], pairs[2 * i] = sequence, sequence
  end
  return pairs
end
