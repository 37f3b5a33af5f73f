-- A token bucket shared by all replicas: takes up to `want` tokens, at least one or none.
-- KEYS  1 the bucket
-- Answers {tokens taken, milliseconds until the next token}.
-- @args rate burst want

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local rate, burst, want = tonumber(A.rate), tonumber(A.burst), tonumber(A.want)
local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(stored[1]) or burst
local at = tonumber(stored[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) / 1000 * rate)
local taken = math.min(want, math.floor(tokens))
tokens = tokens - taken
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return { taken, taken > 0 and 0 or math.ceil((1 - tokens) / rate * 1000) }
