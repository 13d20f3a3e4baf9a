-- Creates a pool. Needs lib/file_rules.lua, sums.lua, primary.lua and opening.lua.
-- KEYS: meta holds ledger. ARGV: now, by store.lua; the revision that the caller has seen, by
-- lib/rule_parts.lua. Reply: none; a part gives `create`.

-- The number of the ledger's last line, 0 when it has none: halves what lies between a number
-- that a line has, or 0, and one that is behind all lines.
local function last_line()
  local found, none = 0, MAX_AMOUNT + 1
  while none - found > 1 do
    local middle = math.floor((found + none) / 2)
    local line = lines_after(middle - 1, 1)[1]
    if line then found = line[1] else none = middle end
  end
  return found
end

-- A pool that the store did not know gets the funds of its file, and knows the primary. One that
-- the caller has seen before was lost: with `on_failover = "hold"` it waits to be confirmed. What
-- is left of one whose sums are gone comes to nothing: the ledger goes on behind its last line, and
-- what holds had reserved is not given back.
local function create()
  if is_known then return end
  for _, sum in ipairs(SUMS) do m[sum], before[sum] = 0, 0 end
  m.seq = last_line()
  m.opening_seq = m.seq
  call('UNLINK', HOLDS)
  if m.funds > 0 then record(FUNDED, m.funds, 0, '') end
  m.unconfirmed = m.on_failover == ON_FAILOVER_HOLD and ARGV[3] ~= '0' and 1 or 0
  save_sums()
  save({ 'unconfirmed', 'opening_seq' })
  know_primary()
end
