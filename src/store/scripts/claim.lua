-- Claims the oldest claimable todo of a queue, or one by id.
-- KEYS  1 agent prefix
-- Answers {'ok', view, attempts}, {'empty', ms of the next due work or ''}, {'notfound'} or {'conflict'}.
-- @args worker queues queue id ttl claimant fence actor keep
-- @include wire retry_metadata task todo claim

if A.id ~= '' then return claim_by_id(A.id, A.queues, A) end
return claim_next(A.queue, A)
