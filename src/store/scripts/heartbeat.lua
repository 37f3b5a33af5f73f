-- Extends a lease (T6, SB-15). While the client is asked, the lease stands still and only its length is renewed.
-- KEYS  1 agent prefix
-- Answers {'ok', view}, {'notfound'} or {'conflict'}.
-- @args id worker queues fence ttl
-- @include wire retry_metadata task todo

local t = load(A.id)
local fault = holder_fault(t, A.worker, A.queues, A.fence, { 'claimed', 'input-required', 'auth-required' })
if fault then return { fault } end
local from = t.state == 'claimed' and now or tonumber(t.since)
put(t, 'lease', from + tonumber(A.ttl))
if t.state == 'claimed' then redis.call('ZADD', queue_key(t.queue, 'leased'), t.lease, t.id) end
note_worker(t.queue, A.worker, t.claimant or '')
amend_attempt(t, { lastHeartbeatAt = now })
save(t)
return { 'ok', todo_view(t) }
