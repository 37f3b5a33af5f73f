-- Reads the messages of a task for a worker, after a position.
-- KEYS  1 agent prefix
-- Answers {'ok', position of the last message, Message bytes, ...} or {'notfound'}.
-- @args id queues after
-- @include wire task

local t = load(A.id)
if t == nil or not has(decode_list(A.queues), t.queue) then return { 'notfound' } end
local out = { 'ok', t.messages }
local bytes = redis.call('GET', history_key(t.id)) or ''
local at, position = 1, 0
while at <= #bytes do
  local message, next_at = frame(bytes, at)
  position = position + 1
  if position > tonumber(A.after) then out[#out + 1] = message end
  at = next_at
end
return out
