-- pool.hold: reserves amounts until their holds end. Ended holds are taken back first.
-- Uses: lib/store lib/entity lib/memory rules sums clock holds primary request
-- KEYS: meta holds ledger (hold)*
-- ARGV: now, (request)*
--       (lib/request.lua; the last 16 bytes of its key are the hold's id)
-- Reply: OK, holds (four doubles each: a code, the amount, µs until it ends or 0 when it is over,
--        the balance after it); or NO_RULES
-- Codes: OK NO_RULES REPEATED MISMATCH NO_COVER AGAIN UNCONFIRMED NO_OPTION FULL

if not load() then return { NO_RULES } end
-- A repeat returns what the first call did, also when Redis has no memory left.
local is_full = not has_memory()
read_watched_clock()
local _, more = sweep_holds()

local function reserve(key, fingerprint, amount)
  local hold = {
    key = key, id = string.sub(key, -16), fingerprint = fingerprint, state = HELD, amount = amount,
    settled = 0, ends = now + m.hold_ttl,
  }
  local member, ends = member_of(hold.id, amount), string.format('%.0f', hold.ends)
  if call('ZADD', HOLDS, 'NX', ends, member) == 0 then
    -- One of the same name, which is forgotten, has not been taken back.
    record(EXPIRED, 0, amount, hold.id)
    call('ZADD', HOLDS, ends, member)
  end
  record(HELD, amount, 0, hold.id)
  hold.balance = m.balance
  write_hold(hold)
end

local answers = {}
for at = 2, #ARGV do
  local key = KEYS[at + 2]
  local fingerprint, amount = read_request(ARGV[at])
  local code, left, balance = OK, m.hold_ttl, nil
  local known = read_hold(key)
  if known and known.fingerprint ~= fingerprint then
    code = MISMATCH
  elseif known then
    code, amount, balance = REPEATED, known.amount, known.balance
    left = known.state == HELD and known.ends - now or 0
  elseif is_unconfirmed() then
    code = UNCONFIRMED
  elseif is_full then
    code = FULL
  else
    code = refusal(amount, more) or OK
    if code == OK then reserve(key, fingerprint, amount) end
  end
  answers[at - 1] = struct.pack('>dddd', code, amount or 0, left, balance or m.balance)
end
save_sums()
return { OK, table.concat(answers) }
