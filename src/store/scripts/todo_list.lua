-- Lists the todos of some queues, newest first, for a worker.
-- KEYS  1 agent prefix
-- Answers the views.
-- @args queues state limit
-- @include wire retry_metadata task todo

local limit = tonumber(A.limit)
local found = {}
for _, queue in ipairs(cjson.decode(A.queues)) do
  local from, count = 0, 0
  while count < limit do
    local flat = redis.call('ZREVRANGE', queue_key(queue, 'all'), from, from + 199, 'WITHSCORES')
    if #flat == 0 then break end
    for i = 1, #flat, 2 do
      if count < limit then
        local state = redis.call('HGET', task_key(flat[i]), 'state')
        if state and (A.state == '' or A.state == state) then
          found[#found + 1] = { id = flat[i], order = tonumber(flat[i + 1]) }
          count = count + 1
        end
      end
    end
    from = from + 200
  end
end
table.sort(found, function(a, b) return a.order > b.order end)
local out = {}
for i = 1, math.min(limit, #found) do out[i] = todo_view(load(found[i].id)) end
return out
