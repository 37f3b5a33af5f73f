-- Moves entries from the outbox to the lanes of their configs. One unit: an entry stands in the outbox or in its
-- lanes, never in neither, however many replicas relay (D1, D5).
-- KEYS  1 agent prefix
-- Answers {entries moved, ref, gen, ref, gen, ...}: the lanes that have to be queued now. Those that are not, because
-- the process ended here, are found again after `grace` milliseconds by push_due.
-- @args limit depth grace ttl deadlimit
-- @include wire retry_metadata task push

local entries = redis.call('XRANGE', P .. 'outbox', '-', '+', 'COUNT', A.limit)
local out = { #entries }
local done = {}
for _, item in ipairs(entries) do
  local e = pairs_of(item[2])
  for version, refs in pairs({ ['1.0'] = e.c, ['0.3'] = e.d }) do
    for ref in string.gmatch(refs, '[^,]+') do
      if redis.call('HEXISTS', push_key(e.t), ref) == 1 then
        local trace = (e.x or '') == '' and '' or ';' .. e.x
        local entry = e.s .. ' ' .. e.m .. ' ' .. version .. trace .. ' ' .. (version == '1.0' and e.e or e.w)
        local gen, full = push_entry(ref, e.t, entry, e.m, now + tonumber(A.grace), tonumber(A.depth))
        if full then
          bury(ref, e.t, entry, 'lane_full', 0, '', '', tonumber(A.ttl), tonumber(A.deadlimit))
        elseif gen then
          out[#out + 1] = ref
          out[#out + 1] = gen
        end
        redis.call('HSET', lane_key(ref), 'last', e.s)
      end
    end
  end
  done[#done + 1] = item[1]
end
if #done > 0 then redis.call('XDEL', P .. 'outbox', unpack(done)) end
return out
