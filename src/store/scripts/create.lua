-- Creates a todo, or finds the one that the same request made before (A2A-44, SB-21).
-- KEYS  1 agent prefix
-- ARGV  named below
-- Answers {'ok'|'replay', Task bytes, seq, A2A state}, or {'mismatch'}: the same message id with other content.
-- @args id owner scopes queue context title source kind assignee message request max msgkey bodyhash idem history reject actor push pushid pushref pushsecret trace tracestate
-- @include wire retry_metadata task push todo

local function replay(id)
  local t = load(id)
  if not t then return nil end
  return { 'replay', task_bytes(t, tonumber(A.history), true), t.seq, t.a2a }
end

local seen = redis.call('GET', A.msgkey)
if seen then
  local id, hash = string.match(seen, '^(.-)|(.*)$')
  local found = replay(id)
  if found then
    if hash ~= A.bodyhash then return { 'mismatch' } end
    -- A write, so that a wait for replicas covers what is confirmed here (ConnectOptions.replicas).
    redis.call('SET', A.msgkey, seen, 'KEEPTTL')
    return found
  end
end
if A.idem ~= '' then
  local id = redis.call('GET', A.idem)
  local found = id and replay(id)
  if found then return found end
end

local t = { id = A.id }
put(t, 'owner', A.owner)
put(t, 'scopes', A.scopes)
put(t, 'queue', A.queue)
put(t, 'ctx', A.context)
put(t, 'title', A.title)
put(t, 'order', now_us_text)
put(t, 'req', A.request)
put(t, 'attempt', 0)
put(t, 'max', A.max)
put(t, 'created', now_text)
put(t, 'updated', now_text)
put(t, 'state', 'pending')
put(t, 'msgkey', A.msgkey)
for _, name in ipairs({ 'source', 'kind', 'assignee', 'idem', 'trace', 'tracestate' }) do
  if A[name] ~= '' then put(t, name, A[name]) end
end

redis.call('SET', A.msgkey, A.id .. '|' .. A.bodyhash)
if A.idem ~= '' then redis.call('SET', A.idem, A.id) end
local _, first_length = add_history(t, A.message)
put(t, 'flen', first_length)
-- Before the first event, so that it is pushed too (A2A-40).
if A.push ~= '' then add_config(t, A.owner, A.pushid, A.pushref, A.push, A.pushsecret, 1) end
set_status(t, TASK_STATE.pending, nil)
audit(t, 'create', A.actor, nil)
redis.call('ZADD', queue_key(t.queue, 'all'), now_us_text, t.id)
if A.reject ~= '' then
  step(t, 'reject', 'policy', A.reject)
else
  enqueue(t)
end
save(t)
return { 'ok', task_bytes(t, tonumber(A.history), true), t.seq, t.a2a }
