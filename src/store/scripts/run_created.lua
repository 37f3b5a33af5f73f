-- The host made the run: its task appears, and the intent is done with.
-- KEYS  1 agent prefix
-- ARGV  named; `holder` follows the run from now on, for `ttl` milliseconds.
-- Answers {'ok'|'replay', Task bytes, seq, A2A state, fence}, {'gone'} without an intent, {'taken'} where the host handed
-- out the id of somebody else's run.
-- @args msgkey runid state view meta holder ttl history
-- @include wire retry_metadata task push run

local function answer(word, t)
  return { word, task_bytes(t, tonumber(A.history), true), t.seq, t.a2a, word == 'ok' and t.rfence or '0' }
end

local seen = redis.call('GET', A.msgkey)
local id = seen and string.match(seen, '^(.-)|')
if id and id ~= '?' then
  local known = load(id)
  if known then return answer('replay', known) end
end
local flat = redis.call('HGETALL', intent_key(A.msgkey))
if #flat == 0 then return { 'gone' } end
local intent = {}
for i = 1, #flat, 2 do intent[flat[i]] = flat[i + 1] end

local function settle_intent()
  redis.call('DEL', intent_key(A.msgkey))
  redis.call('ZREM', INTENTS, A.msgkey)
end

if redis.call('EXISTS', task_key(A.runid)) == 1 then
  settle_intent()
  local known = load(A.runid)
  if known and known.run and known.owner == intent.owner then
    -- We forgot the message sooner than the host did.
    redis.call('SET', A.msgkey, known.id .. '|' .. intent.bodyhash, 'PX', DEDUP_MS)
    return answer('replay', known)
  end
  redis.call('DEL', A.msgkey)
  return { 'taken' }
end

local t = { id = A.runid }
for _, name in ipairs({ 'owner', 'scopes', 'queue', 'ctx', 'title', 'cred' }) do put(t, name, intent[name]) end
if intent.purposes ~= '' then put(t, 'purposes', intent.purposes) end
local trace = TRACE ~= '' and TRACE or intent.begun or ''
if trace ~= '' then put(t, 'trace', trace) end
put(t, 'state', 'run')
put(t, 'created', now)
put(t, 'updated', now)
put(t, 'msgkey', A.msgkey)
put(t, 'run', A.view)
put(t, 'cursor', -1)
put(t, 'rv', 0)
if A.meta ~= '' then put(t, 'meta', A.meta) end
take_run(t, A.holder, tonumber(A.ttl))
redis.call('SET', A.msgkey, t.id .. '|' .. intent.bodyhash)
settle_intent()
add_history(t, placed(t, intent.message))
-- Before the first event, so that it is pushed too (A2A-40).
if intent.push ~= '' then
  add_config(t, t.owner, intent.pushid, intent.pushref, intent.push, intent.pushsecret, 1)
end
set_status(t, tonumber(A.state), nil, t.meta, nil)
audit(t, 'create', intent.actor, nil)
save(t)
return answer('ok', t)
