-- Says that a run is about to be asked for, before the host is, so that a crash in between loses and doubles nothing
-- (OW-20).
-- KEYS  1 agent prefix
-- ARGV  named; `life` and `stale` in milliseconds: how long the intent stands, and when somebody else may finish it.
-- Answers {'new'}; {'open', fields of the intent} for one that was not finished; {'replay', Task bytes, seq, A2A state};
-- {'mismatch'}: the same message id with other content.
-- @args msgkey bodyhash owner scopes queue context title message cred body idem trace purposes actor life stale history push pushid pushref pushsecret
-- @include wire retry_metadata task push run

local seen = redis.call('GET', A.msgkey)
if seen then
  local id, hash = string.match(seen, '^(.-)|(.*)$')
  if id == '?' then
    if hash ~= A.bodyhash then return { 'mismatch' } end
    return { 'open', flat_intent(A.msgkey) }
  end
  local t = load(id)
  if t then
    if hash ~= A.bodyhash then return { 'mismatch' } end
    return { 'replay', task_bytes(t, tonumber(A.history), true), t.seq, t.a2a }
  end
end
local key = intent_key(A.msgkey)
redis.call('SET', A.msgkey, '?|' .. A.bodyhash, 'PX', A.life)
redis.call('HSET', key, 'bodyhash', A.bodyhash, 'owner', A.owner, 'scopes', A.scopes, 'queue', A.queue, 'ctx', A.context,
  'title', A.title, 'message', A.message, 'cred', A.cred, 'body', A.body, 'idem', A.idem, 'trace', A.trace,
  'purposes', A.purposes, 'actor', A.actor, 'push', A.push, 'pushid', A.pushid, 'pushref', A.pushref, 'pushsecret',
  A.pushsecret, 'begun', TRACE)
redis.call('PEXPIRE', key, A.life)
redis.call('ZADD', INTENTS, now + tonumber(A.stale), A.msgkey)
return { 'new' }
