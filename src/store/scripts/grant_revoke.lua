-- Ends an approved friendship. The reverse one, if there is any, is another record and stays (SB-65).
-- KEYS  1 prefix of friend requests
-- Answers 'ok', 'notfound' or 'conflict'.
-- @args id actor
-- @include grant

local g = load(A.id)
if g == nil then return 'notfound' end
if g.state ~= 'approved' then return 'conflict' end
redis.call('HSET', grant_key(A.id), 'state', 'revoked', 'revoked', now)
make_room(A.id, g)
audit(A.id, 'revoked', A.actor)
return 'ok'
