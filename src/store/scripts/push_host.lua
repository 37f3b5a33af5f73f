-- The limiter and the circuit breaker of one receiving host, shared by all replicas.
-- KEYS  1 the host
-- `verb` admit: may a request start? Answers {'go', failures in a row}, {'wait', ms}: that far ahead is the place just
-- reserved, or {'open', ms}: the breaker holds. `reserved`: the place was reserved before.
-- `verb` ok, fail: what came of a request. Answers {'go', failures in a row} or {'open', ms}.
-- @args verb rate burst reserved threshold open openmax probe

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local key = KEYS[1]
local state = redis.call('HMGET', key, 'fails', 'until', 'opens', 'probe', 'tat')
local fails = tonumber(state[1] or 0)
local threshold = tonumber(A.threshold)

if A.verb == 'ok' then
  redis.call('HDEL', key, 'fails', 'until', 'opens', 'probe')
  return { 'go', 0 }
end
if A.verb == 'fail' then
  fails = redis.call('HINCRBY', key, 'fails', 1)
  redis.call('PEXPIRE', key, 3600000)
  if fails < threshold then return { 'go', fails } end
  local opens = tonumber(state[3] or 0)
  local wait = math.min(tonumber(A.openmax), tonumber(A.open) * 2 ^ opens)
  -- Failures of requests that were under way when the breaker opened do not open it further.
  if fails == threshold or tonumber(state[4] or 0) > 0 then
    redis.call('HSET', key, 'until', math.floor(now + wait), 'opens', math.min(opens + 1, 30))
    redis.call('HDEL', key, 'probe')
  end
  return { 'open', math.floor(wait) }
end

if fails >= threshold then
  local held = math.max(tonumber(state[2] or 0), tonumber(state[4] or 0))
  if held > now then return { 'open', held - now } end
  -- Half open: one request finds out, the others wait for its answer.
  redis.call('HSET', key, 'probe', now + tonumber(A.probe))
end
local rate = tonumber(A.rate)
if rate <= 0 or A.reserved == '1' then return { 'go', fails } end
local step = 1000 / rate
local tat = math.max(tonumber(state[5] or 0), now)
local wait = math.ceil(tat - step * (tonumber(A.burst) - 1) - now)
redis.call('HSET', key, 'tat', tostring(tat + step))
redis.call('PEXPIRE', key, math.ceil(math.max(tat + step - now, fails > 0 and 3600000 or 0)) + 60000)
if wait > 0 then return { 'wait', wait } end
return { 'go', fails }
