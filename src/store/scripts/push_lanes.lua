-- Lanes with work, the one that waits longest first.
-- KEYS  1 agent prefix
-- Answers {lanes with work, outbox entries, dead letters, ref, lane as flat pairs, ref, ...}.
-- @args limit
-- @include wire retry_metadata task push

local out = { redis.call('ZCARD', AGES), redis.call('XLEN', P .. 'outbox'), redis.call('ZCARD', DEAD) }
for _, ref in ipairs(redis.call('ZRANGE', AGES, 0, tonumber(A.limit) - 1)) do
  local lane = pairs_of(redis.call('HGETALL', lane_key(ref)))
  if lane.task then
    local config = cjson.decode(redis.call('HGET', push_key(lane.task), ref) or redis.call('GET', ended_key(ref)) or '{}')
    out[#out + 1] = ref
    out[#out + 1] = { 'task', lane.task, 'config', config.id or '', 'host', config.host or '', 'attempts', lane.n or '0',
      'note', lane.note or '', 'depth', tostring(redis.call('LLEN', entries_key(ref))),
      'oldest', redis.call('ZSCORE', AGES, ref) }
  end
end
return out
