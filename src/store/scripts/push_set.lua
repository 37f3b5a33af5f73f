-- Registers a push config, or replaces the one of the same id (OW-55, OW-56, A2A-103). Pushes nothing by itself.
-- KEYS  1 agent prefix
-- Answers {'ok'}, {'notfound'}, {'limit'}: the task has as many configs as it may, or {'replay'}: it is never pushed.
-- @args id caller shared queues ref config configid sealed limit keep actor
-- @include wire retry_metadata task push

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
if is_replay(t) then return { 'replay' } end
if not add_config(t, A.caller, A.configid, A.ref, A.config, A.sealed, tonumber(A.limit)) then return { 'limit' } end
-- Nothing will ever be sent for an ended task, so its credential is not kept for long (A2A-109).
if TERMINAL[tonumber(t.a2a)] then
  redis.call('PEXPIRE', secret_key((find_config(t.id, A.caller, A.configid))), math.max(1, tonumber(A.keep)))
end
audit(t, 'push_config_set', A.actor, t.state)
save(t)
return { 'ok' }
