-- Takes back the intent of a run that the host surely did not make.
-- KEYS  1 agent prefix
-- @args msgkey
-- @include wire retry_metadata task push run

local seen = redis.call('GET', A.msgkey)
if seen and string.sub(seen, 1, 2) == '?|' then
  redis.call('DEL', A.msgkey, intent_key(A.msgkey))
end
redis.call('ZREM', INTENTS, A.msgkey)
return 1
