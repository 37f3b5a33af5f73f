-- Keeps runs for `ttl` milliseconds more, or with `release` gives them back, to be taken after `ttl`.
-- KEYS  1 agent prefix
-- ARGV  the named ones, then pairs of run id and fence.
-- Answers the ids that are no longer the caller's.
-- @args holder ttl release
-- @include wire retry_metadata task push run

local lost = {}
for i = ARGS + 1, #ARGV, 2 do
  local id = ARGV[i]
  local fence, holder = unpack(redis.call('HMGET', task_key(id), 'rfence', 'rholder'))
  if fence == ARGV[i + 1] and holder == A.holder then
    redis.call('ZADD', DUE, 'XX', now + tonumber(A.ttl), id)
    if A.release == '1' then redis.call('HDEL', task_key(id), 'rholder') end
  else
    lost[#lost + 1] = id
  end
end
return lost
