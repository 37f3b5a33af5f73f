-- Reads a todo with its attempts, newest first, for a worker.
-- KEYS  1 agent prefix
-- Answers {'ok', view, attempts} or {'notfound'}.
-- @args id queues attempts
-- @include wire retry_metadata task todo

local t = load(A.id)
if t == nil or not has(decode_list(A.queues), t.queue) then return { 'notfound' } end
local attempts = {}
if A.attempts ~= '0' then
  local texts = redis.call('LRANGE', attempts_key(t.id), -tonumber(A.attempts), -1)
  for i = #texts, 1, -1 do attempts[#attempts + 1] = texts[i] end
end
return { 'ok', todo_view(t), attempts }
