-- pool.fund: puts money in.
-- Uses: lib/store lib/entity lib/memory lib/repeated lib/changes rules sums clock primary
-- KEYS: meta changes ledger (call)*
-- ARGV: now, fingerprint, amount, name, by
--       (8 bytes; the name of the call; the name of the operator's key, empty: no operator)
-- Reply: OK, doubles: a code, the amount, 0, the balance after it; or NO_RULES
-- Codes: OK NO_RULES REPEATED MISMATCH TOO_LARGE UNCONFIRMED FULL

if not load() then return { NO_RULES } end
-- A repeat returns what the first call did, also when Redis has no memory left.
local is_full = not has_memory()
read_watched_clock()
local key, fingerprint, amount = KEYS[4], ARGV[2], tonumber(ARGV[3])
local code, balance = OK, nil
local same, note = repeated(key, fingerprint, now - DAY)
if same == false then
  code = MISMATCH
elseif same then
  code = REPEATED
  balance = struct.unpack('>d', note)
elseif is_unconfirmed() then
  code = UNCONFIRMED
elseif is_full then
  code = FULL
elseif amount > MAX_AMOUNT - m.funded then
  code = TOO_LARGE
else
  record(FUNDED, amount, 0, ARGV[4])
  remember(key, fingerprint .. struct.pack('>d', m.balance), now, 2 * DAY / 1000)
  local before = { 'balance', m.balance - amount }
  local after = { 'amount', amount, 'balance', m.balance }
  log_change(CHANGES, ARGV[5], 'pool.fund', before, after)
end
save_sums()
return { OK, struct.pack('>dddd', code, amount, 0, balance or m.balance) }
