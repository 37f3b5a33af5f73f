-- A counted slot that lapses unless it is renewed: how many streams an endpoint has open on all replicas (SB-47).
-- KEYS  1 the set of slots by the time they lapse
-- Answers 1 when the slot is held, 0 when all are taken.
-- @args id limit ttl

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], A.id) and redis.call('ZCARD', KEYS[1]) >= tonumber(A.limit) then return 0 end
redis.call('ZADD', KEYS[1], now + tonumber(A.ttl), A.id)
redis.call('PEXPIRE', KEYS[1], A.ttl)
return 1
