-- Revives a dead letter with a fresh attempt budget; its history stays (T14, SB-19).
-- KEYS  1 agent prefix
-- Answers {'ok', view}, {'notfound'} or {'conflict'}.
-- @args id actor
-- @include wire retry_metadata task todo

local t = load(A.id)
if t == nil then return { 'notfound' } end
if t.state ~= 'failed' then return { 'conflict' } end
put(t, 'attempt', 0)
drop(t, 'nb', 'lastfail', 'unspent')
step(t, 'retry', A.actor, nil)
retake_dedup(t)
save(t)
return { 'ok', todo_view(t) }
