-- Joins by address: `places_per_address`. Needs addresses.lua. Nothing of it is made in a call that
-- counts no address.
--
-- Where no number is configured, an address may hold this part of `capacity`, at least so many; a
-- /48 may hold TIMES as many as an address.
local PART, LEAST, TIMES = 4, 60, 8

if ARGV[2] ~= '' then
  local counts = count_addresses().counts

  -- How many places an address may hold; the entries of all items, and their fields; the items
  -- that were given a place; and the fields whose counts have changed.
  local most, from
  local address_of, site_of = {}, {}
  local given, changed_fields, is_changed = {}, {}, {}

  -- Counts of a life of the queue that is over, or of a Redis that lost `meta`, are dropped:
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
    -- As of `held` (life.lua).
    call('HSET', PER_ADDRESS, '-', string.rep('-', 65))
    call('SET', JOINED_FROM, '')
    m.counted_upto, m.counted_from = m.ticket, m.ticket
    save({ 'counted_upto', 'counted_from' })
  end

  -- Begins to count the items of a call by their packed entries; whether the rules bound anything.
  -- Counts are read at once for all items but those that may have a place, as `waiting` and
  -- `records` tell.
  function addresses.begin(packed, waiting, records)
    most = m.places_per_address
    if most < 0 then
      most = m.capacity > 0 and math.max(LEAST, math.floor(m.capacity / PART)) or 0
    end
    if most == 0 then return false end
    most = math.max(1, most - tonumber(ARGV[3]))
    from = packed
    drop_old_counts()
    local wanted, k = {}, 0
    for i = 1, #waiting do
      local address, site
      if not waiting[i] and not records[i] then
        address, site = addresses.fields(packed, 4 * i - 3)
        address_of[i], site_of[i] = address or false, site
      end
      if address then
        if counts[address] == nil then
          k, counts[address] = k + 1, false
          wanted[k] = address
        end
        if site and counts[site] == nil then
          k, counts[site] = k + 1, false
          wanted[k] = site
        end
      end
    end
    if k > 0 then addresses.read(wanted) end
    return true
  end

  local function add(field)
    counts[field] = counts[field] + 1
    if is_changed[field] then return end
    is_changed[field], changed_fields[#changed_fields + 1] = true, field
  end

  -- Whether the address of an item holds as many places as one may. If not, the item is given a
  -- place, which counts: the items are to be asked about in the order of their tickets.
  function addresses.is_full(i)
    local address, site = address_of[i], site_of[i]
    if address == nil then
      -- Its own place had ended, and was cleared away in this call.
      address, site = addresses.fields(from, 4 * i - 3)
    end
    if address then
      if not counts[address] then addresses.read({ address }) end
      if site and not counts[site] then addresses.read({ site }) end
      if counts[address] >= most or site and counts[site] >= TIMES * most then return true end
      add(address)
      if site then add(site) end
    end
    given[#given + 1] = i
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

  -- Writes what was counted in this call, which gave the last tickets up to this one.
  function addresses.keep()
    if #given == 0 then return end
    local first = m.ticket - #given + 1
    addresses.write()
    local bytes, lap = from, 4 * (RING - first % RING)
    if 4 * #given < #from then
      local entries = {}
      for k, i in ipairs(given) do entries[k] = string.sub(from, 4 * i - 3, 4 * i) end
      bytes = table.concat(entries)
    end
    put_entries(first, string.sub(bytes, 1, lap))
    if #bytes > lap then put_entries(first + lap / 4, string.sub(bytes, lap + 1)) end
    m.counted_upto = m.ticket
  end
end
