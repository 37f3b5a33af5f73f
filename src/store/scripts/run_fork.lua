-- A run was forked from the run of a task: the fork appears as a task of the same owner, marked as what it is. It takes
-- over no push config (OW-53), and is free to be followed.
-- KEYS  1 agent prefix
-- ARGV  named; `fork` is the mark, JSON: { mode, sourceTaskId }.
-- Answers {'ok'}, {'known'} where the task is there, or {'notfound'}: the source is no task.
-- @args id source fork state view meta actor
-- @include wire retry_metadata task push run

local source = load(A.source)
if source == nil or source.run == nil then return { 'notfound' } end
if redis.call('EXISTS', task_key(A.id)) == 1 then return { 'known' } end

local t = { id = A.id }
for _, name in ipairs({ 'owner', 'scopes', 'queue', 'title', 'cred', 'purposes' }) do
  if source[name] then put(t, name, source[name]) end
end
if TRACE ~= '' then put(t, 'trace', TRACE) end
-- A run that no message made is a context of its own (openwop.md 1.7).
put(t, 'ctx', A.id)
put(t, 'fork', A.fork)
put(t, 'state', 'run')
put(t, 'created', now)
put(t, 'updated', now)
put(t, 'run', A.view)
put(t, 'cursor', -1)
put(t, 'rv', 0)
put(t, 'meta', A.meta)
redis.call('ZADD', DUE, now, t.id)
set_status(t, tonumber(A.state), nil, t.meta, nil)
audit(t, 'fork', A.actor, nil)
save(t)
return { 'ok' }
