-- A new life of the queue.

-- Redis keeps a hash of up to 512 short values as a list, and walks along it in each look-up; one
-- long value makes it a table.
local function make_held_a_table()
  call('HSET', HELD, '-', string.rep('-', 65))
end
