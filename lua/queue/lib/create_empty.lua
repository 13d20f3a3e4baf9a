-- A queue that is created, or recreated by a reset or after a loss: without any place. The log of
-- changes stays.
-- KEYS: meta, changes, then all others. ARGV: none. Reply: none; a part gives `create_empty`.

-- UNLINK takes the sets away in constant time and frees them in the background. Redis keeps a hash
-- of up to 512 short values as a list, and walks along it in each look-up; one long value makes it
-- a table.
local function create_empty()
  call('UNLINK', unpack(KEYS, 3))
  call('HSET', HELD, '-', string.rep('-', 65))
end
