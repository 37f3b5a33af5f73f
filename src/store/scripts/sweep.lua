-- One round of housekeeping for an agent's queues: due retries, lapsed leases, unanswered interrupts, old tasks
-- (T11 to T13, SB-31, retention by age and by number). Any number of replicas may run it; each unit of work is taken once.
-- KEYS  1 agent prefix
-- Answers how many records it changed; run again while that is not 0.
-- @args queues interruptlimit timeoutmessage retention maxrows limit
-- @include wire retry_metadata task push todo

local changed = 0
local limit = tonumber(A.limit)
for _, queue in ipairs(cjson.decode(A.queues)) do
  local due = redis.call('ZRANGEBYSCORE', queue_key(queue, 'delayed'), '-inf', now, 'LIMIT', 0, limit)
  changed = changed + settle_queue(queue, 'reaped', limit)
  for _, id in ipairs(due) do
    redis.call('SPUBLISH', queue_key(queue, 'bell'),
      cjson.encode({ id = id, title = redis.call('HGET', task_key(id), 'title') or '', at = 0 }))
  end
  if A.interruptlimit ~= '0' then
    local waiting = redis.call('ZRANGEBYSCORE', queue_key(queue, 'waiting'), '-inf', now - tonumber(A.interruptlimit),
      'LIMIT', 0, limit)
    for _, id in ipairs(waiting) do
      local t = load(id)
      if t and t.since then
        put(t, 'lastfail', 'interrupt_timeout')
        close_attempt(t, 'interrupt_timeout', 'dead_lettered')
        clear_lease(t)
        step(t, 'interrupt_timeout', 'system', A.timeoutmessage)
        save(t)
      else
        redis.call('ZREM', queue_key(queue, 'waiting'), id)
      end
      changed = changed + 1
    end
  end
end
local old = redis.call('ZRANGEBYSCORE', P .. 'terminal', '-inf', now - tonumber(A.retention), 'LIMIT', 0, limit)
if #old == 0 then
  local surplus = redis.call('ZCARD', P .. 'terminal') - tonumber(A.maxrows)
  if surplus > 0 then old = redis.call('ZRANGE', P .. 'terminal', 0, math.min(surplus, limit) - 1) end
end
for _, id in ipairs(old) do
  local t = load(id)
  if t then purge(t) else redis.call('ZREM', P .. 'terminal', id) end
  changed = changed + 1
end
return changed
