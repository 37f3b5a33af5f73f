-- Who works on some queues of an agent.
-- KEYS  1 agent prefix
-- Answers {seen, held}: "<queue> <endpoint> <name>" with the time, the latest first, and of each todo that is held a list
-- of queue, id, holder, claimant, state, attempt, lease, title. At most `limit` of each, and of held ones of each queue.
-- @args queues limit
-- @include wire retry_metadata task push todo

local limit = tonumber(A.limit)
local seen = redis.call('ZREVRANGEBYSCORE', WORKERS, '+inf', now - WORKER_MS, 'WITHSCORES', 'LIMIT', 0, limit)
local held = {}
for _, queue in ipairs(cjson.decode(A.queues)) do
  for _, part in ipairs({ 'leased', 'waiting' }) do
    for _, id in ipairs(redis.call('ZRANGE', queue_key(queue, part), 0, limit - 1)) do
      local values = redis.call('HMGET', task_key(id), 'holder', 'claimant', 'state', 'attempt', 'lease', 'title')
      if values[1] then
        local row = { queue, id }
        for i = 1, 6 do row[i + 2] = values[i] or '' end
        held[#held + 1] = row
      end
    end
  end
end
return { seen, held }
