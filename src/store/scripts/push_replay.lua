-- Puts dead letters back at the end of their lanes, oldest first. One whose config or credential is gone stays dead; so
-- does one that finds its lane full, with its successors.
-- KEYS  1 agent prefix
-- ARGV  the named ones, then ids.
-- Answers {replayed, refused, ref, gen, ref, gen, ...}: the lanes that have to be queued now.
-- @args grace depth lanebytes actor
-- @include wire retry_metadata task push

local ids = {}
for i = ARGS + 1, #ARGV do
  local at = redis.call('ZSCORE', DEAD, ARGV[i])
  if at then ids[#ids + 1] = { id = ARGV[i], ms = tonumber(redis.call('HGET', dead_key(ARGV[i]), 'ms') or 0),
    seq = tonumber(redis.call('HGET', dead_key(ARGV[i]), 'seq') or 0) } end
end
table.sort(ids, function(a, b)
  if a.ms ~= b.ms then return a.ms < b.ms end
  if a.seq ~= b.seq then return a.seq < b.seq end
  return a.id < b.id
end)
local out = { 0, 0 }
local filled = {}
for _, item in ipairs(ids) do
  local d = pairs_of(redis.call('HGETALL', dead_key(item.id)))
  local config = d.ref and (redis.call('HGET', push_key(d.task), d.ref) or redis.call('GET', ended_key(d.ref)))
  local usable = config and (not cjson.decode(config).sealed or redis.call('EXISTS', secret_key(d.ref)) == 1)
  local gen
  if usable and not filled[d.ref] then
    -- The age counts from the replay, or an old letter would expire again at once.
    local trace = (d.trace or '') == '' and '' or ';' .. d.trace
    local entry = d.seq .. ' ' .. now .. ' ' .. d.version .. trace .. ' ' .. d.bytes
    gen, filled[d.ref] = push_entry(d.ref, d.task, entry, now, now + tonumber(A.grace))
  end
  if usable and not filled[d.ref] then
    drop_dead(item.id)
    redis.call('HINCRBY', lane_key(d.ref), 'dead', -1)
    if gen then
      out[#out + 1] = d.ref
      out[#out + 1] = gen
    end
    out[1] = out[1] + 1
    audit_of(d.task, d.seq, 'push_replay', A.actor, '', '')
    -- A dead letter may outlive its task.
    if redis.call('EXISTS', task_key(d.task)) == 1 then trail_of(d.task, d.seq, 'push_replay', A.actor, '', '') end
  else
    out[2] = out[2] + 1
  end
end
return out
