-- pool.audit: what the ledger comes to, a part of it in each call; in the last, what the pool has.
-- Writes nothing.
-- Uses: lib/store lib/entity rules sums opening
-- KEYS: meta ledger
-- ARGV: now, seq, balance, held, paid, funded, lines, missing
--       (what the call before returned; at first all are 0)
-- Reply: OK, 1 at the end of the ledger, doubles: seq, balance, held, paid and funded by it, lines
--        read, numbers without a line, then balance, held, paid and funded of the pool; or
--        NO_RULES
-- Codes: OK NO_RULES

local MOST_READ = 250

if not load() then return { NO_RULES } end
local sums = {
  seq = tonumber(ARGV[2]), balance = tonumber(ARGV[3]), held = tonumber(ARGV[4]),
  paid = tonumber(ARGV[5]), funded = tonumber(ARGV[6]),
}
local read, missing = tonumber(ARGV[7]), tonumber(ARGV[8])
-- Lines may have been summed up since the call before.
local opening = read_opening()
if opening.seq > sums.seq then sums = opening end
local lines = lines_after(sums.seq, MOST_READ)
for _, line in ipairs(lines) do
  local kind, amount, released = struct.unpack(LINE, line[2])
  move(sums, kind, amount, released)
  missing, read = missing + line[1] - sums.seq - 1, read + 1
  sums.seq = line[1]
end
local is_end = #lines < MOST_READ
if is_end then missing, sums.seq = missing + m.seq - sums.seq, m.seq end
return {
  OK, is_end and 1 or 0,
  struct.pack('>ddddddddddd', sums.seq, sums.balance, sums.held, sums.paid, sums.funded, read,
    missing, m.balance, m.held, m.paid, m.funded),
}
