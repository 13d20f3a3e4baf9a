-- What a pool has, and its ledger: what was funded is in the balance, held or paid. Needs
-- rules.lua.
-- KEYS: meta ledger. ARGV: now, by store.lua. Reply: none; a part moves money and writes it down.

-- the kind of a movement, its amount, what it released of what was held, balance after it, queue
-- time, the store's clock; the hold's id follows, or the name of the call of who drew or funded
local LINE = '>Bddddd'
local SUMS = { 'balance', 'held', 'paid', 'funded', 'seq' } -- and the number of the last line
local before = {} -- as the store has them

-- False when the store holds no rules for this pool.
local function load()
  local fields = {
    'balance', 'held', 'paid', 'funded', 'seq', 'unconfirmed', 'failovers', 'holds_expired',
  }
  if not load_meta(fields) then return false end
  for _, sum in ipairs(SUMS) do
    m[sum] = m[sum] or 0
    before[sum] = m[sum]
  end
  return true
end

-- Moves an amount, and what a hold had reserved, as a line of this kind does.
local function move(sums, kind, amount, released)
  if kind == FUNDED then
    sums.funded, sums.balance = sums.funded + amount, sums.balance + amount
  elseif kind == HELD then
    sums.balance, sums.held = sums.balance - amount, sums.held + amount
  else
    sums.balance, sums.held = sums.balance + released - amount, sums.held - released
    sums.paid = sums.paid + amount
  end
end

local function record(kind, amount, released, whose)
  move(m, kind, amount, released)
  m.seq = m.seq + 1
  local line = struct.pack(LINE, kind, amount, released, m.balance, now, wall) .. whose
  call('XADD', LEDGER, string.format('%.0f-0', m.seq), 'line', line)
end

-- Writes what has moved.
local function save_sums()
  write_even_if_full()
  for _, sum in ipairs(SUMS) do
    local by = m[sum] - before[sum]
    if by ~= 0 then call('HINCRBY', META, sum, string.format('%.0f', by)) end
  end
  save({ 'last' })
end
