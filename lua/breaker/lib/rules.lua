-- The rules of a circuit breaker, which each call carries.
-- Needs lib/store.lua.
-- KEYS: none. ARGV: now, by store.lua; rules, seven doubles. Reply: none; a part names them.

-- Times in microseconds, the threshold in millionths.
local window, threshold, min_samples, kept_in, quorum, open_for, probes =
  struct.unpack('>ddddddd', ARGV[2])
