-- pool.ledger: the movements behind a number, or those before one, in order. Writes nothing.
-- Uses: lib/store lib/entity rules sums opening
-- KEYS: meta ledger
-- ARGV: now, after, before, count
--       (before 0: those behind `after`, else `after` does not count)
-- Reply: OK, doubles: the last line that is summed up, and the balance, held, paid and funded that
--        it left, the last line; of each line its number and its packed text (lib/sums.lua); or
--        NO_RULES
-- Codes: OK NO_RULES

if not load() then return { NO_RULES } end
local opening = read_opening()
local reply = {
  OK,
  struct.pack('>dddddd', opening.seq, opening.balance, opening.held, opening.paid, opening.funded,
    m.seq),
}
local after, before, count = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if before > 0 then after = math.min(before - 1, m.seq) - count else before = math.huge end
for _, line in ipairs(lines_after(math.max(after, opening.seq), count)) do
  -- Of numbers that no line has, the page has fewer.
  if line[1] < before then reply[#reply + 1], reply[#reply + 2] = line[1], line[2] end
end
return reply
