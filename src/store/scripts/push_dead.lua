-- Reads dead letters, newest first, without what they would send.
-- KEYS  1 agent prefix
-- Answers {id, fields as flat pairs, id, fields, ...}.
-- @args id task since before limit
-- @include wire retry_metadata task push

local FIELDS = { 'task', 'config', 'owner', 'host', 'seq', 'ms', 'version', 'reason', 'attempts', 'first', 'at', 'note' }
local out = {}
local removed = 0
local function show(id)
  local values = redis.call('HMGET', dead_key(id), unpack(FIELDS))
  if not values[1] then
    removed = removed + drop_dead(id)
    return
  end
  if A.task ~= '' and values[1] ~= A.task then return end
  local flat = {}
  for i, name in ipairs(FIELDS) do
    flat[#flat + 1] = name
    flat[#flat + 1] = values[i] or ''
  end
  out[#out + 1] = id
  out[#out + 1] = flat
end
if A.id ~= '' then
  if redis.call('ZSCORE', DEAD, A.id) then show(A.id) end
else
  local limit, offset = tonumber(A.limit), 0
  while #out < limit * 2 do
    local ids = redis.call('ZRANGE', DEAD, '(' .. A.before, A.since, 'BYSCORE', 'REV', 'LIMIT', offset, 200)
    if #ids == 0 then break end
    for _, id in ipairs(ids) do
      if #out < limit * 2 then show(id) end
    end
    offset = offset + #ids - removed
    removed = 0
  end
end
return out
