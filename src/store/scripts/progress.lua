-- The holder reports progress: a status message, or an artifact or a part of one (A2A-93).
-- KEYS  1 agent prefix
-- Answers {'ok', seq}, {'notfound'}, {'conflict'} or {'full'}: the task would be larger than `cap` bytes.
-- @args id worker queues fence message artifactid artifact append last actor cap
-- @include wire retry_metadata task todo

local t = load(A.id)
local fault = holder_fault(t, A.worker, A.queues, A.fence, { 'claimed', 'auth-required' })
if fault then return { fault } end
local by = message_growth(t, A.message)
if A.artifactid ~= '' then by = artifact_growth(t, A.artifactid, A.artifact, A.append == '1') end
if size_of(t) + by > tonumber(A.cap) then return { 'full' } end
if A.artifactid ~= '' then
  put_artifact(t, A.artifactid, A.artifact, A.append == '1', A.last == '1')
  audit(t, 'artifact', A.actor, t.state)
else
  -- An authorization may arrive out of band: the holder says so by going on (A2A-97).
  if t.state == 'auth-required' then
    put(t, 'lease', tonumber(t.lease) + (now - tonumber(t.since)))
    drop(t, 'since')
    step(t, 'resume', A.actor, A.message)
  else
    step(t, 'progress', A.actor, A.message)
  end
end
save(t)
return { 'ok', t.seq }
