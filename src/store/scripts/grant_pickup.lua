-- What the holder of a pickup token is told, and, with `commit`, the handing over of the credential, once (SB-66).
-- KEYS  1 prefix of friend requests
-- Answers {'unknown'}, {'state', state}, {'spent'}, {'expired'}, {'ready'|'ok', endpoint id}.
-- @args id pickup commit
-- @include grant

local g = load(A.id)
if g == nil or g.pickup ~= A.pickup then return { 'unknown' } end
if g.state ~= 'approved' then return { 'state', g.state } end
if g.picked then return { 'spent' } end
if now > tonumber(g['until']) then return { 'expired' } end
if A.commit == '' then return { 'ready', g.endpoint } end
redis.call('HSET', grant_key(A.id), 'picked', now)
audit(A.id, 'pickup', g.human)
return { 'ok', g.endpoint }
