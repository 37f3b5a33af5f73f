-- Adds a client's message to a task; a task that waits for its client goes on with it (A2A-45, SB-29, SB-32).
-- KEYS  1 agent prefix
-- Answers {'ok'|'replay', Task bytes, seq, A2A state}, or {'notfound'}, {'context'}, {'terminal'}, {'mismatch'}, or
-- {'pushlimit'}: the task has as many push configs as it may, or {'full'}: it would be larger than `cap` bytes. Then
-- nothing was stored.
-- @args id caller shared queues context message msgkey bodyhash history actor push pushid pushref pushsecret pushlimit cap
-- @include wire retry_metadata task push todo

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
if A.context ~= '' and A.context ~= t.ctx then return { 'context' } end
local function answer(word) return { word, task_bytes(t, tonumber(A.history), true), t.seq, t.a2a } end

local seen = redis.call('GET', A.msgkey)
if seen then
  local id, hash = string.match(seen, '^(.-)|(.*)$')
  if id ~= A.id or hash ~= A.bodyhash then return { 'mismatch' } end
  -- A write, so that a wait for replicas covers what is confirmed here (ConnectOptions.replicas).
  redis.call('SET', A.msgkey, seen, 'KEEPTTL')
  return answer('replay')
end
if TERMINAL[tonumber(t.a2a)] then return { 'terminal' } end
if size_of(t) + message_growth(t, A.message) > tonumber(A.cap) then return { 'full' } end
if A.push ~= '' and not add_config(t, A.caller, A.pushid, A.pushref, A.push, A.pushsecret, tonumber(A.pushlimit)) then
  return { 'pushlimit' }
end

redis.call('SET', A.msgkey, A.id .. '|' .. A.bodyhash, 'PX', DEDUP_MS)
local waiting = t.state == 'input-required' or t.state == 'auth-required'
if waiting and t.smsg then
  add_history(t, t.smsg)
  drop(t, 'smsg')
end
local position = add_history(t, placed(t, A.message))
if waiting then
  -- The lease stood still while the client thought (SB-31).
  put(t, 'lease', tonumber(t.lease) + (now - tonumber(t.since)))
  drop(t, 'since')
  step(t, 'reply', A.actor, nil)
else
  put(t, 'updated', now)
  audit(t, 'message', A.actor, t.state)
end
save(t)
redis.call('SPUBLISH', task_key(t.id), 'm' .. position)
return answer('ok')
