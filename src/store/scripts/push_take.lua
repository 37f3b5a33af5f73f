-- Takes a lane for delivering, with a lease: one worker at a time, whatever the queue does (B8).
-- KEYS  1 agent prefix
-- Answers what head_of answers, {'stale'}: this job was overtaken, or {'busy', milliseconds}: another holds the lane.
-- @args ref gen holder lease keep
-- @include wire retry_metadata task push

local lane = redis.call('HMGET', lane_key(A.ref), 'gen', 'on', 'holder', 'until')
if lane[1] ~= A.gen or lane[2] ~= '1' then return { 'stale' } end
if lane[3] and lane[3] ~= A.holder then
  local left = tonumber(lane[4]) - now
  if left > 0 then return { 'busy', left } end
end
return head_of(A.ref, A.holder, tonumber(A.lease), tonumber(A.keep))
