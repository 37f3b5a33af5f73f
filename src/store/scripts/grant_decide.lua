-- Approves or denies a pending friend request. Approval names the endpoint, which has no credential yet.
-- KEYS  1 prefix of friend requests
-- Answers 'ok', 'notfound' or 'conflict'.
-- @args id state granted endpoint pickup actor
-- @include grant

local g = load(A.id)
if g == nil then return 'notfound' end
if g.state ~= 'pending' then return 'conflict' end
redis.call('HSET', grant_key(A.id), 'state', A.state, 'decided', now)
redis.call('SREM', P .. 'pending', A.id)
if A.state == 'approved' then
  redis.call('HSET', grant_key(A.id), 'granted', A.granted, 'endpoint', A.endpoint, 'until', now + tonumber(A.pickup))
else
  make_room(A.id, g)
end
audit(A.id, A.state, A.actor)
return 'ok'
