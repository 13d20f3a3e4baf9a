-- pool.draw: pays amounts at once. Ended holds are taken back first.
-- Uses: lib/store lib/entity lib/memory lib/repeated rules sums clock holds primary request
-- KEYS: meta holds ledger (call)*
-- ARGV: now, (request)*
--       (lib/request.lua)
-- Reply: OK, draws (four doubles each: a code, the amount, 0, the balance after it); or NO_RULES
-- Codes: OK NO_RULES REPEATED MISMATCH NO_COVER AGAIN UNCONFIRMED NO_OPTION FULL

if not load() then return { NO_RULES } end
-- A repeat returns what the first call did, also when Redis has no memory left.
local is_full = not has_memory()
read_watched_clock()
local _, more = sweep_holds()

local answers = {}
for at = 2, #ARGV do
  local key = KEYS[at + 2]
  local fingerprint, amount, name = read_request(ARGV[at])
  local code, balance = OK, nil
  local same, note = repeated(key, fingerprint, now - DAY)
  if same == false then
    code = MISMATCH
  elseif same then
    code = REPEATED
    amount, balance = struct.unpack('>dd', note)
  elseif is_unconfirmed() then
    code = UNCONFIRMED
  elseif is_full then
    code = FULL
  else
    code = refusal(amount, more) or OK
    if code == OK then
      record(DRAWN, amount, 0, name)
      remember(key, fingerprint .. struct.pack('>dd', amount, m.balance), now, 2 * DAY / 1000)
    end
  end
  answers[at - 1] = struct.pack('>dddd', code, amount or 0, 0, balance or m.balance)
end
save_sums()
return { OK, table.concat(answers) }
