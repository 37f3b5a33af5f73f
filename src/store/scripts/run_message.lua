-- A client's message to a run, in steps around the call to the host:
--   check   what stands against it, so that the host need not hear of it (OW-22, OW-23)
--   begin   keeps what the host is about to be told, so that a retry tells it the same and nothing else (OW-20)
--   commit  the host took it: it becomes part of the history
--   drop    the host refused it
-- KEYS  1 agent prefix
-- Answers {'ok', fields} or {'pending', fields, answer} to a check; {'ok'|'replay', Task bytes, seq, A2A state};
-- {'notfound'}, {'context'}, {'terminal'}, {'mismatch'}; {'full'} to a check: the task would be larger than `cap` bytes.
-- @args id step caller shared queues context message msgkey bodyhash answer history actor push pushid pushref pushsecret pushlimit cap
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
local pending = A.msgkey .. ':reply'
if A.step == 'check' then
  local id, hash, kept = unpack(redis.call('HMGET', pending, 'id', 'hash', 'answer'))
  if id then
    if id ~= A.id or hash ~= A.bodyhash then return { 'mismatch' } end
    return { 'pending', run_view(t), kept }
  end
  if TERMINAL[tonumber(t.a2a)] then return { 'terminal' } end
  if size_of(t) + message_growth(t, A.message) > tonumber(A.cap) then return { 'full' } end
  return { 'ok', run_view(t) }
end
if A.step == 'begin' then
  redis.call('HSET', pending, 'id', A.id, 'hash', A.bodyhash, 'answer', A.answer)
  redis.call('PEXPIRE', pending, DEDUP_MS)
  return answer('ok')
end
redis.call('DEL', pending)
if A.step == 'drop' then return answer('ok') end
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
