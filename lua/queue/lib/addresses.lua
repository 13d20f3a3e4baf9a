-- How many places each client address holds, in memory that does not grow with their number. Needs
-- counted_upto.
--
-- Redis knows an address by a number of 16 bits, which admission makes with a secret key, and the
-- /48 of an IPv6 address by one of 15 bits, from 2^15 on. `per_address` has a count for each
-- number. `joined_from` keeps the numbers of the last tickets, so the end of a place finds its
-- counts. Two addresses with one number share a count.

local RING = 524288 -- so many tickets

-- Made when first needed: Lua makes functions in each call of a script, and most calls count
-- nothing.
local addresses
local function count_addresses()
  if addresses then return addresses end
  addresses = {
    counts = {}, -- what this call knows of `per_address`
  }

  -- The fields of `per_address` for an entry of `joined_from`: that of the address (nothing when it
  -- counts for none), and that of its /48, if any. `at` is where it begins.
  function addresses.fields(entries, at)
    local address = string.sub(entries, at, at + 1)
    if address == '\0\0' then return end
    if string.byte(entries, at + 2) < 128 then return address end
    return address, 's' .. string.sub(entries, at + 2, at + 3)
  end

  -- Reads these counts.
  function addresses.read(fields)
    local counts = addresses.counts
    for i, count in ipairs(call('HMGET', PER_ADDRESS, unpack(fields))) do
      counts[fields[i]] = tonumber(count or 0)
    end
  end

  -- Writes what has changed in `counts`, where a script changes them there (per_address.lua).
  function addresses.write() end

  -- Places with these entries count no more.
  function addresses.take_off(entries)
    local counts, less, fields = addresses.counts, {}, {}
    local function count_off(field)
      if not field then return end
      if not less[field] then fields[#fields + 1] = field end
      less[field] = (less[field] or 0) + 1
    end
    for at = 1, #entries, 4 do
      local address, site = addresses.fields(entries, at)
      count_off(address)
      count_off(site)
    end
    if #fields == 0 then return end
    addresses.write()
    addresses.read(fields)
    local some, none, k = {}, {}, 0
    for _, field in ipairs(fields) do
      counts[field] = math.max(0, counts[field] - less[field])
      if counts[field] > 0 then
        some[k + 1], some[k + 2], k = field, counts[field], k + 2
      else
        none[#none + 1] = field
      end
    end
    if k > 0 then call('HSET', PER_ADDRESS, unpack(some)) end
    if #none > 0 then call('HDEL', PER_ADDRESS, unpack(none)) end
  end

  -- The places with these tickets have ended.
  function addresses.uncount(tickets)
    local upto, take, k = m.counted_upto or 0, {}, 0
    for _, ticket in ipairs(tickets) do
      if ticket <= upto and ticket > upto - RING then
        take[k + 1], take[k + 2] = 'SET', 'u32'
        take[k + 3], take[k + 4] = string.format('#%d', ticket % RING), '0'
        k = k + 4
      end
    end
    if k == 0 then return end
    write_even_if_full()
    local entries = call('BITFIELD', JOINED_FROM, unpack(take))
    addresses.take_off(struct.pack('>' .. string.rep('I4', #entries), unpack(entries)))
  end

  return addresses
end
