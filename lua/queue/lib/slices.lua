-- How many may be promoted in a tick by the rate rule. Needs state.lua, pace.lua and SLICE_FIELDS.
local SLICE_FIELDS = { 'slice_at', 'carry', 'left', 'left_until', 'credit', 'credit_at' }

-- The most that a slice ever gives: two slices' time, and one's worth of shares given back.
local function most_of_a_slice()
  local share = m.batch * slice_length() / m.interval
  return math.ceil(2 * share) + math.ceil(share)
end

-- Starts the slice or batch that is due; returns how late it is in microseconds.
local function start_slice()
  local even = m.pace == PACE_EVEN
  local length = even and slice_length() or m.interval
  local before = (m.slice_at or 0) > 0 and m.slice_at
  local since = before and now - before or length
  if since < length then return 0 end
  -- A batch waits for the interval to have room: begun without, it would be dropped unused.
  if not even and promoted_since(now - m.interval) >= m.batch then return 0 end
  local late = since - length
  if even then
    local units = m.batch * math.min(since, 2 * length) + math.min(m.carry or 0, m.interval - 1)
    local whole = math.floor(units / m.interval)
    local share = math.min(m.credit or 0, math.ceil(m.batch * length / m.interval))
    m.slice_at, m.carry = now, units - whole * m.interval
    m.left, m.credit = whole + share, (m.credit or 0) - share
    m.left_until = now + 2 * length
  else
    -- A tick that is a little late does not shift the batches; after a pause they start from now.
    m.slice_at = before and late < 1000000 and before + length or now
    m.left, m.left_until = m.batch, now + 1000000
  end
  return late
end

-- How many may be promoted now by the rate rule, and how late they are: by the slice, or without a
-- rate by the tick before. A promotion is late only when places waited at that tick (`waited_at`,
-- else false).
local function free_by_rate(waited_at)
  if m.batch == 0 then return math.huge, waited_at and now - waited_at or 0 end
  if m.credit and m.credit > 0 and now - (m.credit_at or 0) >= m.interval then m.credit = 0 end
  local late = start_slice()
  if (m.left or 0) > 0 and now > m.left_until then m.left = 0 end
  local free = m.left or 0
  if m.pace == PACE_EVEN then
    -- One that began under a larger batch gives no more than one of the batch in force.
    free = math.min(free, most_of_a_slice())
  elseif health() == BREAKER_HALF_OPEN then
    -- Probes of the target do not wait for the next batch.
    free = m.batch
  else
    free = free + (m.credit or 0)
  end
  return math.min(free, m.batch - promoted_since(now - m.interval)), waited_at and late or 0
end

-- Takes n promotions from the slice, and past it from what was given back.
local function spend(n)
  if m.batch == 0 then return end
  local rest = (m.left or 0) - n
  m.left = math.max(0, rest)
  if rest < 0 then m.credit = math.max(0, (m.credit or 0) + rest) end
end
