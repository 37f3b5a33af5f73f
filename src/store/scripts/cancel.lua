-- Cancels a task once; a terminal task is left as it is (SB-38, SB-39).
-- KEYS  1 agent prefix
-- Answers {'ok'|'terminal', Task bytes, seq, A2A state} or {'notfound'}.
-- @args id caller shared queues message actor history
-- @include wire retry_metadata task todo

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
local function answer(word) return { word, task_bytes(t, tonumber(A.history), true), t.seq, t.a2a } end
if TERMINAL[tonumber(t.a2a)] then return answer('terminal') end
close_attempt(t, 'canceled', 'canceled')
clear_lease(t)
drop(t, 'nb')
step(t, 'cancel', A.actor, A.message)
save(t)
return answer('ok')
