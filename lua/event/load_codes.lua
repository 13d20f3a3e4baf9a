-- event.load_codes: codes to give out, each once: one that was ever loaded is passed over, so a
-- file may be loaded again, from the beginning or from anywhere.
-- Uses: lib/store lib/entity lib/memory meta wake
-- KEYS: meta codes known_codes
-- ARGV: now, wake, (code)*
--       (the channel of the issuers; 12 bytes of a digest and the code)
-- Reply: OK, code (OK, FULL), how many were new, how many are left to give out; or NO_RULES
-- Codes: OK FULL NO_RULES

local FIRST, DIGEST = 3, 12

if not load({}) then return { NO_RULES } end
read_clock()
if not has_memory() then return { OK, FULL, 0, 0 } end
save({ 'last' })

local digests, new, codes = {}, {}, {}
for at = FIRST, #ARGV do digests[at - FIRST + 1] = string.sub(ARGV[at], 1, DIGEST) end
local known = call('SMISMEMBER', KNOWN_CODES, unpack(digests))
local is_new = {}
for i, digest in ipairs(digests) do
  if known[i] == 0 and not is_new[digest] then
    new[#new + 1], is_new[digest] = digest, true
    codes[#codes + 1] = string.sub(ARGV[FIRST + i - 1], DIGEST + 1)
  end
end
if #new > 0 then
  call('SADD', KNOWN_CODES, unpack(new))
  call('RPUSH', CODES, unpack(codes))
  wake()
end
return { OK, OK, #new, call('LLEN', CODES) }
