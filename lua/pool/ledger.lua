-- pool.ledger: the movements behind a number, in order. Writes nothing.
-- Uses: lib/store lib/entity rules sums opening
-- KEYS: meta ledger
-- ARGV: now, after, count
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
local after = math.max(tonumber(ARGV[2]), opening.seq)
for _, line in ipairs(lines_after(after, tonumber(ARGV[3]))) do
  reply[#reply + 1], reply[#reply + 2] = line[1], line[2]
end
return reply
