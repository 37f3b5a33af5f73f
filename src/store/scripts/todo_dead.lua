-- Lists the dead letters of some queues, the latest death first (SB-19).
-- KEYS  1 agent prefix
-- ARGV  `before`: exclusive bound of the time of death in milliseconds, '' for none.
-- Answers {time of death, view, reason, ...}, at most `limit` of them.
-- @args queues before limit
-- @include wire retry_metadata task push todo

local limit = tonumber(A.limit)
local max = A.before == '' and '+inf' or '(' .. A.before
local found = {}
for _, queue in ipairs(cjson.decode(A.queues)) do
  local flat = redis.call('ZREVRANGEBYSCORE', queue_key(queue, 'dead'), max, '-inf', 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #flat, 2 do found[#found + 1] = { id = flat[i], at = tonumber(flat[i + 1]) } end
end
table.sort(found, function(a, b)
  if a.at ~= b.at then return a.at > b.at end
  return a.id > b.id
end)
local out = {}
for _, dead in ipairs(found) do
  if #out / 3 >= limit then break end
  local t = load(dead.id)
  if t then
    out[#out + 1] = dead.at
    out[#out + 1] = todo_view(t)
    out[#out + 1] = t.lastfail or ''
  end
end
return out
