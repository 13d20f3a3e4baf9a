-- Joins by address: `places_per_address`. Needs addresses.lua. Nothing of it is made in a call that
-- counts no address.
--
-- Where no number is configured, an address may hold this part of `capacity`, at least so many; a
-- /48 may hold SITE_TIMES as many as an address.

if ARGV[2] ~= '' then
  local counts = count_addresses().counts

  -- How many places an address may hold; the entries of all items; what the items name, and how
  -- often; whether one may reach its bound in this call, so that each item must be checked;
  -- and the fields whose counts have changed.
  local most, from, is_close
  local named, times = {}, {}
  local changed_fields, is_changed = {}, {}

  -- Counts from before a reset of the queue, or of a Redis that lost `meta`, are dropped:
  -- `counted_upto`, the last ticket in `joined_from`, is then missing or above the last ticket. So
  -- are those of which Redis lost one key: without the other no end would find its count.
  local function drop_old_counts()
    if
      m.counted_upto
      and m.counted_upto <= m.ticket
      and call('EXISTS', PER_ADDRESS, JOINED_FROM) == 2
    then
      return
    end
    write_even_if_full()
    call('UNLINK', PER_ADDRESS, JOINED_FROM)
    -- As of `held` (create_empty.lua).
    call('HSET', PER_ADDRESS, '-', string.rep('-', 65))
    call('SET', JOINED_FROM, '')
    m.counted_upto, m.counted_from = m.ticket, m.ticket
    save({ 'counted_upto', 'counted_from' })
  end

  -- Begins to count the items of a call: their packed entries, and how often they name each field
  -- (ARGV of join.lua). Returns whether the rules bound anything, and whether a bound is close.
  function addresses.begin(packed, packed_times)
    most = m.places_per_address
    if most < 0 then
      local part = math.floor(m.capacity / PART_OF_ADDRESS)
      most = m.capacity > 0 and math.max(LEAST_OF_ADDRESS, part) or 0
    end
    if most == 0 then return false end
    most = math.max(1, most - tonumber(ARGV[4]))
    from = packed
    drop_old_counts()
    for at = 1, #packed_times, 4 do
      local n, site = string.byte(packed_times, at, at + 1)
      local k = #named + 1
      named[k], times[k] = string.sub(packed_times, site == 0 and at + 2 or at + 1, at + 3), n
    end
    addresses.read(named)
    for k, field in ipairs(named) do
      local bound = #field == 2 and most or SITE_TIMES * most
      is_close = is_close or counts[field] + times[k] > bound
    end
    return true, is_close
  end

  local function add(field, n)
    counts[field] = counts[field] + n
    if is_changed[field] then return end
    is_changed[field], changed_fields[#changed_fields + 1] = true, field
  end

  function addresses.count(i)
    local address, site = addresses.fields(from, 4 * i - 3)
    if address then add(address, 1) end
    if site then add(site, 1) end
  end

  -- Whether the address of an item holds as many places as one may. If not, the item is given a
  -- place, which counts.
  function addresses.is_full(i)
    local address, site = addresses.fields(from, 4 * i - 3)
    if address and counts[address] >= most or site and counts[site] >= SITE_TIMES * most then
      return true
    end
    addresses.count(i)
    return false
  end

  function addresses.write()
    local written, k = {}, 0
    for _, field in ipairs(changed_fields) do
      written[k + 1], written[k + 2], k = field, counts[field], k + 2
    end
    if k > 0 then call('HSET', PER_ADDRESS, unpack(written)) end
    changed_fields, is_changed = {}, {}
  end

  -- Writes entries of tickets from `first` on, whose slots do not wrap around. What a slot still
  -- holds of an older ticket counts no more.
  local function put_entries(first, bytes)
    local at = 4 * (first % RING)
    if first >= RING then
      addresses.take_off(call('GETRANGE', JOINED_FROM, at, at + #bytes - 1))
    end
    call('SETRANGE', JOINED_FROM, at, bytes)
  end

  -- Counts the items that were given the last tickets, in their order: these, of so many in all.
  function addresses.keep(given, all)
    if #given == 0 then return end
    if is_close then
      -- is_full() has counted them.
    elseif #given == all then
      for k, field in ipairs(named) do add(field, times[k]) end
    else
      for _, i in ipairs(given) do addresses.count(i) end
    end
    addresses.write()
    local first = m.ticket - #given + 1
    local bytes, lap = from, 4 * (RING - first % RING)
    if #given < all then
      local entries = {}
      for k, i in ipairs(given) do entries[k] = string.sub(from, 4 * i - 3, 4 * i) end
      bytes = table.concat(entries)
    end
    put_entries(first, string.sub(bytes, 1, lap))
    if #bytes > lap then put_entries(first + lap / 4, string.sub(bytes, lap + 1)) end
    m.counted_upto = m.ticket
  end
end
