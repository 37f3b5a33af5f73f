-- One page of a caller's tasks, newest status first (A2A-58 to A2A-68, SB-35).
-- A listing is pinned: it shows each task at the place it had when the first page was read, so a task that moves
-- while the client turns pages is neither skipped nor repeated. A place is (score, id), both falling.
-- KEYS  1 agent prefix
-- ARGV  named; scopes is a JSON list; score, last and asof are '' for a first page; total is '' to count.
-- Answers {total, asof, last score, last id, more, Task bytes, ...}.
-- @args scopes context state after size score last asof total history artifacts pinms
-- @include wire retry_metadata task

local scopes = cjson.decode(A.scopes)
local size = tonumber(A.size)
local first = A.asof == ''
local asof = tonumber(A.asof)
local min = A.after == '' and '-inf' or A.after

if first then
  asof = now
  for _, scope in ipairs(scopes) do
    local newest = redis.call('ZREVRANGE', P .. 'idx:' .. scope, 0, 0, 'WITHSCORES')
    if newest[2] then asof = math.max(asof, tonumber(newest[2])) end
  end
end

local function listing_key(scope)
  local base, by_state, by_context, by_both = index_keys(scope, A.context, A.state)
  if A.context ~= '' and A.state ~= '' then return by_both end
  if A.context ~= '' then return by_context end
  if A.state ~= '' then return by_state end
  return base
end

local function behind_cursor(score, id)
  if first then return true end
  local cursor = tonumber(A.score)
  return score < cursor or (score == cursor and id < A.last)
end

-- Members of a zset in falling order from the cursor on, at most `size` + 1 that pass.
local function places(key, take)
  local max, from = first and '+inf' or A.score, 0
  while true do
    local flat = redis.call('ZREVRANGEBYSCORE', key, max, min, 'WITHSCORES', 'LIMIT', from, size + 20)
    if #flat == 0 then return end
    for i = 1, #flat, 2 do
      if not take(flat[i], tonumber(flat[i + 1])) then return end
    end
    from = from + size + 20
  end
end

local total = tonumber(A.total)
if not total then
  total = 0
  for _, scope in ipairs(scopes) do total = total + redis.call('ZCOUNT', listing_key(scope), min, '+inf') end
end

local found = {}
for _, scope in ipairs(scopes) do
  local count = 0
  places(listing_key(scope), function(id, score)
    if score <= asof and behind_cursor(score, id) then
      found[#found + 1] = { id = id, score = score }
      count = count + 1
    end
    return count <= size
  end)
  if not first then
    local moved = 0
    places(P .. 'idx:' .. scope .. ':moved', function(member, score)
      local place = cjson.decode(member)
      local matches = (A.context == '' or place.c == A.context) and (A.state == '' or tostring(place.s) == A.state)
      -- The place was held at `asof` if the task left it later than that.
      if matches and place.m > asof and score <= asof and behind_cursor(score, place.id) then
        found[#found + 1] = { id = place.id, score = score }
        moved = moved + 1
      end
      return moved <= size
    end)
  end
end
table.sort(found, function(a, b)
  if a.score ~= b.score then return a.score > b.score end
  return a.id > b.id
end)

local out = { total, asof, '', '', 0 }
local last
for _, place in ipairs(found) do
  if #out - 5 >= size then
    out[5] = 1
    break
  end
  if not last or last.id ~= place.id then
    last = place
    local t = load(place.id)
    -- A task that no longer matches the filter has left the listing.
    if t and (A.state == '' or t.a2a == A.state) then
      out[#out + 1] = task_bytes(t, tonumber(A.history), A.artifacts == '1')
    end
  end
end
if last then
  out[3] = string.format('%.0f', last.score)
  out[4] = last.id
end
if out[5] == 1 then
  local until_ms = now + tonumber(A.pinms)
  for _, scope in ipairs(scopes) do
    local pin = P .. 'idx:' .. scope .. ':pin'
    redis.call('HSET', pin, 'until', until_ms)
    if first then redis.call('HSET', pin, 'asof', math.max(asof, tonumber(redis.call('HGET', pin, 'asof') or 0))) end
    redis.call('PEXPIREAT', pin, until_ms)
    redis.call('PEXPIREAT', P .. 'idx:' .. scope .. ':moved', until_ms)
  end
end
return out
