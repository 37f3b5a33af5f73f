-- Ended runs whose record on the host has not been looked for since `interval` milliseconds (OW-15).
-- KEYS  1 agent prefix
-- Answers pairs of run id and credential name.
-- @args interval limit
-- @include wire retry_metadata task push run

local out = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', ENDED, '-inf', now - tonumber(A.interval), 'LIMIT', 0, tonumber(A.limit))) do
  local cred = redis.call('HGET', task_key(id), 'cred')
  if cred then
    redis.call('ZADD', ENDED, now, id)
    out[#out + 1] = id
    out[#out + 1] = cred
  else
    redis.call('ZREM', ENDED, id)
  end
end
return out
