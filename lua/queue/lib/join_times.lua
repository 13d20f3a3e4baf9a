-- When places joined, many at once. Needs joined_at.lua.

-- Returns a function that returns the join time of a ticket (false: forgotten). It is called with
-- ascending tickets up to `to`, and uses the samples among them, of which it reads at most so many.
-- Past these it looks each ticket up, and returns 1 as well.
local function join_times(from, to, most)
  local since, next_sample, after = joined_at(from), 1, '(' .. string.format('%.0f', from)
  local samples = call('ZRANGEBYSCORE', MARKS, after, to, 'LIMIT', 0, most)
  return function(ticket)
    while samples[next_sample] do
      local of, at = string.match(samples[next_sample], '^(%d+):(%d+)')
      if tonumber(of) > ticket then break end
      since, next_sample = tonumber(at), next_sample + 1
    end
    -- Past the samples that were read: the tickets are far apart.
    if #samples == most and not samples[next_sample] then return joined_at(ticket), 1 end
    return since, 0
  end
end
