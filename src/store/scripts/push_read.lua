-- The push configs of a task that belong to the caller (OW-54).
-- KEYS  1 agent prefix
-- Answers {'ok', config as JSON, ...} or {'notfound'}.
-- @args id caller shared queues
-- @include wire retry_metadata task push

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
local out = { 'ok' }
for _, text in ipairs(redis.call('HVALS', push_key(t.id))) do
  if cjson.decode(text).owner == A.caller then out[#out + 1] = text end
end
return out
