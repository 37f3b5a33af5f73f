-- Forgets an ended task whose run the host no longer has (OW-15).
-- KEYS  1 agent prefix
-- @args id
-- @include wire retry_metadata task push run

local t = load(A.id)
if t == nil or t.run == nil or not TERMINAL[tonumber(t.a2a)] then return 0 end
for ref in pairs(pairs_of(redis.call('HGETALL', push_key(t.id)))) do destroy_config(t.id, ref) end
unindex(t)
redis.call('ZREM', ENDED, t.id)
for _, artifact_id in ipairs(decode_list(t.artifacts)) do redis.call('DEL', artifact_key(t.id, artifact_id)) end
local key = task_key(t.id)
redis.call('DEL', key, key .. ':log', history_key(t.id), trail_key(t.id))
return 1
