-- A new pickup token for an approved friendship; the old token is dead.
-- KEYS  1 prefix of friend requests
-- Answers 'ok', 'notfound' or 'conflict'.
-- @args id token pickup actor
-- @include grant

local g = load(A.id)
if g == nil then return 'notfound' end
if g.state ~= 'approved' then return 'conflict' end
redis.call('HSET', grant_key(A.id), 'pickup', A.token, 'until', now + tonumber(A.pickup))
redis.call('HDEL', grant_key(A.id), 'picked')
audit(A.id, 'reissue', A.actor)
return 'ok'
