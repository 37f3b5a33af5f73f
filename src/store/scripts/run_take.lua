-- Takes runs that nobody follows, and intents that nobody finished, for `ttl` milliseconds.
-- KEYS  1 agent prefix
-- Answers {fields of a run, ...}, then {fields of an intent, ...}.
-- @args holder ttl limit
-- @include wire retry_metadata task push run

local limit, ttl = tonumber(A.limit), tonumber(A.ttl)
local runs, intents = {}, {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', DUE, '-inf', now, 'LIMIT', 0, limit)) do
  local t = load(id)
  if t == nil or t.run == nil or TERMINAL[tonumber(t.a2a)] then
    redis.call('ZREM', DUE, id)
  else
    take_run(t, A.holder, ttl)
    save(t)
    runs[#runs + 1] = run_view(t)
  end
end
for _, msgkey in ipairs(redis.call('ZRANGEBYSCORE', INTENTS, '-inf', now, 'LIMIT', 0, 10)) do
  if redis.call('EXISTS', intent_key(msgkey)) == 0 then
    redis.call('ZREM', INTENTS, msgkey)
  else
    redis.call('ZADD', INTENTS, now + ttl, msgkey)
    intents[#intents + 1] = flat_intent(msgkey)
  end
end
return { runs, intents }
