-- Moves entries from the outbox to the lanes of their configs. One unit: an entry stands in the outbox or in its
-- lanes, never in neither, however many replicas relay (D1, D5).
-- KEYS  1 agent prefix
-- Answers {entries moved, whether more are left, ref, gen, ref, gen, ...}: the lanes that have to be queued now. Those
-- that are not, because the process ended here, are found again after `grace` milliseconds by push_due. Ends after
-- `limit` entries, or with the one that makes it more than `room` bytes: nobody else is served meanwhile.
-- @args limit room depth lanebytes grace ttl deadlimit deadbytes
-- @include wire retry_metadata task push

local PAGE = 20
local limit, room = tonumber(A.limit), tonumber(A.room)
local out = { 0, 0 }
local moved, copied = 0, 0

-- The Task as it stands, where its event was recorded without; nil where it was forgotten since.
local printed = {}
local function print_task(id)
  if printed[id] == nil then
    local t = load(id)
    printed[id] = t and task_bytes(t, -1, true) or false
  end
  return printed[id] or nil
end

local function hand_on(e, version, ref)
  if redis.call('HEXISTS', push_key(e.t), ref) == 0 then return end
  local body = e.e
  if version == '0.3' then body = e.w ~= '' and e.w or print_task(e.t) end
  if body then
    local trace = (e.x or '') == '' and '' or ';' .. e.x
    local entry = e.s .. ' ' .. e.m .. ' ' .. version .. trace .. ' ' .. body
    copied = copied + #entry
    local gen, full = push_entry(ref, e.t, entry, e.m, now + tonumber(A.grace))
    if full then
      bury(ref, e.t, entry, 'lane_full', 0, '', '')
    elseif gen then
      out[#out + 1] = ref
      out[#out + 1] = gen
    end
  end
  redis.call('HSET', lane_key(ref), 'last', e.s)
end

while moved < limit and copied < room do
  local items = redis.call('XRANGE', OUTBOX, '-', '+', 'COUNT', PAGE)
  local done, bytes = {}, 0
  for _, item in ipairs(items) do
    if copied < room then
      local e = pairs_of(item[2])
      for ref in string.gmatch(e.c, '[^,]+') do hand_on(e, '1.0', ref) end
      for ref in string.gmatch(e.d, '[^,]+') do hand_on(e, '0.3', ref) end
      done[#done + 1] = item[1]
      bytes = bytes + #e.e + #e.w
    end
  end
  if #done > 0 then
    redis.call('XDEL', OUTBOX, unpack(done))
    redis.call('HINCRBY', OUTBOX_HELD, 'bytes', 0 - bytes)
  end
  moved = moved + #done
  if #items < PAGE then break end
end
out[1] = moved
if redis.call('XLEN', OUTBOX) > 0 then out[2] = 1 else redis.call('DEL', OUTBOX_HELD) end
return out
