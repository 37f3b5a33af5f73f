-- Lanes with work that nobody has looked after for too long: their job was never queued, or was lost.
-- KEYS  1 agent prefix
-- Answers {ref, gen, ref, gen, ...}; each is left alone for `grace` milliseconds.
-- @args limit grace
-- @include wire retry_metadata task push

local out = {}
for _, ref in ipairs(redis.call('ZRANGEBYSCORE', LANES, '-inf', now, 'LIMIT', 0, A.limit)) do
  local lane = redis.call('HMGET', lane_key(ref), 'gen', 'holder', 'until')
  local gen = lane[1]
  if gen then
    -- Its holder is dead: a new turn starts at once, where the old job would only be missed by the queue much later.
    if lane[2] and tonumber(lane[3]) <= now then gen = redis.call('HINCRBY', lane_key(ref), 'gen', 1) end
    redis.call('ZADD', LANES, now + tonumber(A.grace), ref)
    out[#out + 1] = ref
    out[#out + 1] = gen
  else
    redis.call('ZREM', LANES, ref)
    redis.call('ZREM', AGES, ref)
    redis.call('DEL', entries_key(ref))
  end
end
return out
