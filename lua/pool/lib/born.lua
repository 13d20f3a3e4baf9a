-- The birth of a pool. Needs lib/file_rules.lua, sums.lua and primary.lua.
-- KEYS: meta ledger. ARGV: now, by store.lua; the revision that the caller has seen, by
-- lib/rule_parts.lua. Reply: none; a part gives `be_born`.

-- A pool that the store did not know gets the funds of its file, and knows the primary. One that
-- somebody has seen before was lost: where that must be looked at, it waits to be confirmed.
local function be_born()
  if is_known then return end
  for _, sum in ipairs(SUMS) do m[sum], before[sum] = 0, 0 end
  if m.funds > 0 then record(FUNDED, m.funds, 0, '') end
  m.unconfirmed = m.on_failover == HOLD and ARGV[3] ~= '0' and 1 or 0
  save_sums()
  save({ 'unconfirmed' })
  know_primary()
end
