-- When places joined, many at once. Needs joined_at.lua.

-- A function that tells the join time of tickets (false: forgotten), which it is asked for in
-- ascending order up to `to`: by the marks among them, of which it reads so many. Past these it
-- looks each one up, and says 1 as well.
local function join_times(from, to, most)
  local since, next_mark, after = joined_at(from), 1, '(' .. string.format('%.0f', from)
  local marks = call('ZRANGEBYSCORE', MARKS, after, to, 'LIMIT', 0, most)
  return function(ticket)
    while marks[next_mark] do
      local of, at = string.match(marks[next_mark], '^(%d+):(%d+)')
      if tonumber(of) > ticket then break end
      since, next_mark = tonumber(at), next_mark + 1
    end
    -- Past the marks that were read: the tickets stand far apart.
    if #marks == most and not marks[next_mark] then return joined_at(ticket), 1 end
    return since, 0
  end
end
