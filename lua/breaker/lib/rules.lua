-- The rules of a circuit breaker, which each call carries, its codes and states.
-- Needs lib/store.lua.
-- KEYS: none. ARGV: now, by store.lua; rules, seven doubles. Reply: none; a part names all of it.

-- codes: `Code` in services/core/src/breaker/reply.rs mirrors them
local REPEATED, MISMATCH, TOO_MANY = 2, 3, 4
-- states: `State` in services/core/src/breaker/state.rs
local CLOSED, OPEN, HALF_OPEN = 1, 2, 3
-- where outcomes are kept: `Kept` in services/core/src/breaker/rules.rs
local IN_BUCKETS, IN_LOG = 1, 2

-- Times in microseconds, the threshold in millionths.
local window, threshold, min_samples, kept_in, quorum, open_for, probes =
  struct.unpack('>ddddddd', ARGV[2])
