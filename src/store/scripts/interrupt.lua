-- The holder asks the client for input or authorization (T15, SB-28, SB-30). Lease, holder and attempt stay.
-- KEYS  1 agent prefix
-- Answers {'ok', view}, {'notfound'}, {'conflict'} or {'full'}: the task would be larger than `cap` bytes.
-- @args event id worker queues fence message actor cap
-- @include wire retry_metadata task todo

local t = load(A.id)
local fault = holder_fault(t, A.worker, A.queues, A.fence, { 'claimed' })
if fault then return { fault } end
if size_of(t) + message_growth(t, A.message) > tonumber(A.cap) then return { 'full' } end
step(t, A.event, A.actor, A.message)
save(t)
return { 'ok', todo_view(t) }
