-- Records a friend request, unless its person has as many as one may, or its pair has one already (SB-64).
-- KEYS  1 prefix of friend requests
-- Answers 'ok', 'quota', 'full' (too many wait for the operator) or 'conflict'.
-- @args id human pair quota full record
-- @include grant

if redis.call('SCARD', P .. 'of:' .. A.human) >= tonumber(A.quota) then return 'quota' end
if redis.call('EXISTS', P .. 'pair:' .. A.pair) == 1 then return 'conflict' end
if redis.call('SCARD', P .. 'pending') >= tonumber(A.full) then return 'full' end
for name, value in pairs(cjson.decode(A.record)) do redis.call('HSET', grant_key(A.id), name, value) end
redis.call('HSET', grant_key(A.id), 'human', A.human, 'pair', A.pair, 'state', 'pending', 'created', now)
redis.call('SET', P .. 'pair:' .. A.pair, A.id)
redis.call('SADD', P .. 'of:' .. A.human, A.id)
redis.call('SADD', P .. 'pending', A.id)
redis.call('ZADD', P .. 'all', now, A.id)
audit(A.id, 'request', A.human)
return 'ok'
