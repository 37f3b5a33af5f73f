-- Deletes a push config of the caller with its credential and all that was still to be sent; an unknown one is no
-- error (OW-46, OW-55, A2A-107).
-- KEYS  1 agent prefix
-- Answers {'ok'} or {'notfound'}: the task.
-- @args id caller shared queues configid actor
-- @include wire retry_metadata task push

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
local ref = find_config(t.id, A.caller, A.configid)
if ref then
  destroy_config(t.id, ref)
  note_configs(t)
  audit(t, 'push_config_deleted', A.actor, t.state)
  save(t)
end
return { 'ok' }
