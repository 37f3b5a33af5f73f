-- A client's message to a run. Asked twice: with `commit` empty before the host is called, to refuse what the host need
-- not hear of (OW-22, OW-23), and with `commit` after it took the answer, to make the message part of the history.
-- KEYS  1 agent prefix
-- Answers {'ok', fields} to a check; {'ok'|'replay', Task bytes, seq, A2A state}; {'notfound'}, {'context'}, {'terminal'},
-- {'mismatch'}.
-- @args id commit caller shared queues context message msgkey bodyhash history actor push pushid pushref pushsecret pushlimit
-- @include wire retry_metadata task push run

local t = load(A.id)
if t == nil or t.run == nil or not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
if A.context ~= '' and A.context ~= t.ctx then return { 'context' } end
local function answer(word) return { word, task_bytes(t, tonumber(A.history), true), t.seq, t.a2a } end

local seen = redis.call('GET', A.msgkey)
if seen then
  local id, hash = string.match(seen, '^(.-)|(.*)$')
  if id ~= A.id or hash ~= A.bodyhash then return { 'mismatch' } end
  return answer('replay')
end
if A.commit == '' then
  if TERMINAL[tonumber(t.a2a)] then return { 'terminal' } end
  return { 'ok', run_view(t) }
end

if A.push ~= '' and not TERMINAL[tonumber(t.a2a)] then
  add_config(t, A.caller, A.pushid, A.pushref, A.push, A.pushsecret, tonumber(A.pushlimit))
end
redis.call('SET', A.msgkey, A.id .. '|' .. A.bodyhash, 'PX', DEDUP_MS)
-- The question comes before its answer. It stays the status until the run moves, and is not made history twice.
if t.smsg and not t.smsgkept and not TERMINAL[tonumber(t.a2a)] then
  add_history(t, t.smsg)
  put(t, 'smsgkept', 1)
end
local position = add_history(t, placed(t, A.message))
put(t, 'updated', now)
audit(t, 'message', A.actor, nil)
save(t)
redis.call('SPUBLISH', task_key(t.id), 'm' .. position)
return answer('ok')
