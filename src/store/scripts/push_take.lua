-- Takes a lane for delivering, with a lease: one worker at a time, whatever the queue does (B8).
-- KEYS  1 agent prefix
-- Answers what head_of answers, {'stale'}: this job was overtaken, or {'busy', milliseconds}: another holds the lane.
-- @args ref gen holder lease keep
-- @include wire retry_metadata task push

local lane = pairs_of(redis.call('HGETALL', lane_key(A.ref)))
if lane.gen ~= A.gen or lane.on ~= '1' then return { 'stale' } end
if lane.holder and lane.holder ~= A.holder then
  local left = tonumber(lane['until']) - now
  if left > 0 then return { 'busy', left } end
end
return head_of(A.ref, lane, A.holder, tonumber(A.lease), tonumber(A.keep))
