-- What happened to a task: its audit, and the latest events of its log.
-- KEYS  1 agent prefix
-- Answers {'ok', when it was created, its last event's number, audit lines oldest first, log entries newest first}
-- or {'notfound'}.
-- @args id limit
-- @include wire retry_metadata task

local t = load(A.id)
if t == nil then return { 'notfound' } end
return { 'ok', t.created, t.seq, redis.call('LRANGE', trail_key(t.id), -tonumber(A.limit), -1),
  redis.call('XREVRANGE', task_key(t.id) .. ':log', '+', '-', 'COUNT', tonumber(A.limit)) }
