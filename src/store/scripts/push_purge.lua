-- Removes dead letters for good; a config that was kept only for them goes too.
-- KEYS  1 agent prefix
-- ARGV  ids
-- Answers how many there were.
-- @include wire retry_metadata task push

local purged = 0
for i = ARGS + 1, #ARGV do
  local id = ARGV[i]
  local d = redis.call('HMGET', dead_key(id), 'ref', 'task')
  purged = purged + drop_dead(id)
  if d[1] and redis.call('EXISTS', lane_key(d[1])) == 1 then
    local left = redis.call('HINCRBY', lane_key(d[1]), 'dead', -1)
    local at_rest = redis.call('HGET', lane_key(d[1]), 'on') ~= '1'
    if left <= 0 and at_rest and is_over(d[2], d[1]) then destroy_config(d[2], d[1]) end
  end
end
return purged
