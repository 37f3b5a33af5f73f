-- Removes a friend request that was denied or revoked.
-- KEYS  1 prefix of friend requests
-- Answers 'ok', 'notfound' or 'conflict'.
-- @args id actor
-- @include grant

local g = load(A.id)
if g == nil then return 'notfound' end
if g.state ~= 'denied' and g.state ~= 'revoked' then return 'conflict' end
redis.call('DEL', grant_key(A.id))
redis.call('ZREM', P .. 'all', A.id)
audit(A.id, 'delete', A.actor)
return 'ok'
