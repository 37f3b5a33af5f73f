-- Some of an agent's tasks for an operator, the latest status first: matches among the next `scan` tasks, `size` at most.
-- A place is (status time, id), both falling; the search starts behind the place (`score`, `last`), or with `last` empty
-- at `score`, or with `score` empty at the front.
-- KEYS  1 agent prefix
-- ARGV  named; states is a JSON list, empty for all; owner, queue, context, prefix, min and max (exclusive) '' for any.
-- Answers {more, score, id, summary, ...}: where to go on from, if there is more, and what matched, as flat pairs.
-- @args states owner queue context prefix min max score last size scan
-- @include wire retry_metadata task

local size, scan = tonumber(A.size), tonumber(A.scan)

-- A sender's own indexes say which context a task belongs to; the agent's know states only.
local keys = {}
local states = cjson.decode(A.states)
if A.owner ~= '' and #states == 0 then
  local base, _, by_context = index_keys('e:' .. A.owner, A.context, '')
  keys[1] = A.context == '' and base or by_context
else
  if #states == 0 then states = { 1, 2, 3, 4, 5, 6, 7, 8 } end
  for i, state in ipairs(states) do
    local text = string.format('%d', state)
    local _, by_state, _, by_both = index_keys('e:' .. A.owner, A.context, text)
    keys[i] = A.owner == '' and state_key(text) or (A.context == '' and by_state or by_both)
  end
end

local upper = A.max == '' and '+inf' or '(' .. A.max
if A.score ~= '' and (A.max == '' or tonumber(A.score) < tonumber(A.max)) then upper = A.score end

local function behind(score, id)
  return A.last == '' or score < tonumber(A.score) or id < A.last
end

-- The first `scan` places of each index; of all together, no more are looked at.
local found = {}
for _, key in ipairs(keys) do
  local from, taken = 0, 0
  while taken <= scan do
    local flat = redis.call('ZREVRANGEBYSCORE', key, upper, A.min == '' and '-inf' or A.min, 'WITHSCORES',
      'LIMIT', from, scan + 1)
    for i = 1, #flat, 2 do
      local score = tonumber(flat[i + 1])
      if taken <= scan and behind(score, flat[i]) then
        found[#found + 1] = { id = flat[i], score = score, key = key }
        taken = taken + 1
      end
    end
    if #flat < 2 * (scan + 1) then break end
    from = from + scan + 1
  end
end
table.sort(found, function(a, b)
  if a.score ~= b.score then return a.score > b.score end
  return a.id > b.id
end)

local NAMES = { 'ctx', 'owner', 'queue', 'title', 'kind', 'a2a', 'created', 'at', 'attempt', 'max', 'holder', 'claimant',
  'lease', 'smsg' }
local function summary(id, key)
  local values = redis.call('HMGET', task_key(id), unpack(NAMES))
  if A.owner == '' and (not values[6] or key ~= state_key(values[6])) then
    -- A program that knew nothing of this index moved the task, or removed it.
    redis.call('ZREM', key, id)
    return nil
  end
  if not values[6] then return nil end
  if A.queue ~= '' and values[3] ~= A.queue then return nil end
  if A.context ~= '' and values[1] ~= A.context then return nil end
  local flat = { 'id', id }
  for i, name in ipairs(NAMES) do
    -- Of a status that fills a page by itself, a list shows nothing.
    if values[i] and #values[i] <= 65536 then
      flat[#flat + 1] = name
      flat[#flat + 1] = values[i]
    end
  end
  return flat
end

local out = { 0, '', '' }
local seen = 0
for _, place in ipairs(found) do
  if seen >= scan or #out - 3 >= size then
    out[1] = 1
    break
  end
  seen = seen + 1
  out[2], out[3] = string.format('%.0f', place.score), place.id
  if A.prefix == '' or string.sub(place.id, 1, #A.prefix) == A.prefix then
    local flat = summary(place.id, place.key)
    if flat then out[#out + 1] = flat end
  end
end
return out
