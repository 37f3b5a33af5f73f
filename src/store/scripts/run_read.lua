-- Reads a run's record: for its client, or with `internal` for Baton itself.
-- KEYS  1 agent prefix
-- Answers {'ok', fields} or {'notfound'}.
-- @args id internal caller shared queues
-- @include wire retry_metadata task push run

local t = load(A.id)
if t == nil or t.run == nil then return { 'notfound' } end
if A.internal ~= '1' and not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
return { 'ok', run_view(t) }
