-- Records what came of the first entry of a lane, once and by its holder only (D11).
-- KEYS  1 agent prefix
-- `verb`: delivered; dead (buried for `reason`); retry (an attempt failed, the next in `wait` ms); wait (nothing was
-- sent, go on in `wait` ms; `slot` is a place reserved at the receiver's limiter).
-- Answers what head_of answers, {'waiting', attempts made}, or {'fenced'}: the lane has another holder.
-- @args verb ref holder seq lease keep wait slot reason note ttl deadlimit log
-- @include wire retry_metadata task push

local key = lane_key(A.ref)
local lane = pairs_of(redis.call('HGETALL', key))
if not lane.task then return { 'gone' } end
if lane.holder ~= A.holder then return { 'fenced' } end
local entry = redis.call('LINDEX', entries_key(A.ref), 0)
if not entry or split_entry(entry) ~= A.seq then return { 'fenced' } end

if A.log ~= '' then
  redis.call('XADD', P .. 'push-log', 'MAXLEN', '~', 10000, '*', 'ref', A.ref, 'task', lane.task, 'seq', A.seq,
    'note', A.log)
end
local attempts = tonumber(lane.n or 0)
if A.verb == 'retry' or A.verb == 'wait' then
  if A.verb == 'retry' then
    attempts = attempts + 1
    redis.call('HSET', key, 'n', attempts, 'note', A.note)
    if not lane.first then redis.call('HSET', key, 'first', now) end
  end
  redis.call('HDEL', key, 'holder', 'until', 'slot')
  if A.slot ~= '' then redis.call('HSET', key, 'slot', A.slot) end
  redis.call('ZADD', LANES, now + tonumber(A.wait) + tonumber(A.lease), A.ref)
  return { 'waiting', attempts }
end
if A.verb == 'dead' then
  bury(A.ref, lane.task, entry, A.reason, attempts + (A.log ~= '' and 1 or 0), lane.first or '', A.note,
    tonumber(A.ttl), tonumber(A.deadlimit))
end
redis.call('LPOP', entries_key(A.ref))
if lane.n or lane.slot then redis.call('HDEL', key, 'n', 'slot', 'first', 'note') end
lane.n, lane.slot, lane.first = nil, nil, nil
return head_of(A.ref, lane, A.holder, tonumber(A.lease), tonumber(A.keep))
