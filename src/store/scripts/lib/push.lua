-- Push configs and their lanes. A lane is the queue of one (task, config): its entries leave in order, one at a time.
--   push:<task>       hash    ref -> config as JSON, without secrets
--   secret:<ref>      string  sealed credential
--   lane:<ref>        hash    task, gen, on, holder, until, n, slot, first, note, dead, last, and bytes: of all its entries
--   lane:<ref>:q      list    entries, oldest first: "<seq> <ms> <version> <bytes>", or with ";<trace>" after the version: see push_trace
--   push-lanes        zset    lanes with work, by the time when somebody should look after them
--   push-age          zset    lanes with work, by the commit time of their oldest entry
--   push-of:<owner>   zset    "<ref> <task>" of an endpoint's configs; score 0, or when an ended one may be forgotten
--   push-ended:<ref>  string  the config of an ended task, kept a while for the replay of its dead letters
--   push-dead         zset    dead letters by time; push-dead:<id> holds one
--   push-dead-bytes   hash    what each of them would send, in bytes, and `all` for the sum: a letter that its own TTL took
--                             does not say any more how large it was

local function push_key(task) return P .. 'push:' .. task end
local function secret_key(ref) return P .. 'secret:' .. ref end
local function lane_key(ref) return P .. 'lane:' .. ref end
local function entries_key(ref) return P .. 'lane:' .. ref .. ':q' end
local function ended_key(ref) return P .. 'push-ended:' .. ref end
local function dead_key(id) return P .. 'push-dead:' .. id end
local function owner_key(owner) return P .. 'push-of:' .. owner end
local LANES, AGES, DEAD = P .. 'push-lanes', P .. 'push-age', P .. 'push-dead'
local DEAD_BYTES = P .. 'push-dead-bytes'

local function pairs_of(flat)
  local out = {}
  for i = 1, #flat, 2 do out[flat[i]] = flat[i + 1] end
  return out
end

-- The refs of a task's configs, by the version whose body they get, on the record: emit() reads them there.
local function note_configs(t)
  local by_version = { ['1.0'] = {}, ['0.3'] = {} }
  for ref, text in pairs(pairs_of(redis.call('HGETALL', push_key(t.id)))) do
    local list = by_version[cjson.decode(text).version]
    list[#list + 1] = ref
  end
  for name, version in pairs({ push = '1.0', push03 = '0.3' }) do
    if #by_version[version] > 0 then put(t, name, table.concat(by_version[version], ',')) else drop(t, name) end
  end
end

-- The ref and text of a config of one owner, by the id that the owner knows. Another owner's is as if it were not.
local function find_config(task, owner, id)
  for ref, text in pairs(pairs_of(redis.call('HGETALL', push_key(task)))) do
    local config = cjson.decode(text)
    if config.id == id and config.owner == owner then return ref, text end
  end
  return nil
end

-- Whether the task is the replay of another: what its run tells was told before, and is never pushed (OW-53).
local function is_replay(t) return t.fork ~= nil and cjson.decode(t.fork).mode == 'replay' end

-- Adds or replaces a config; the caller saves t. Answers false where the task has as many as it may, or may have none.
local function add_config(t, owner, id, ref, config, sealed, limit)
  if is_replay(t) then return false end
  local known = find_config(t.id, owner, id)
  if not known and redis.call('HLEN', push_key(t.id)) >= limit then return false end
  ref = known or ref
  redis.call('HSET', push_key(t.id), ref, config)
  redis.call('ZREMRANGEBYSCORE', owner_key(owner), 1, now)
  redis.call('ZADD', owner_key(owner), 0, ref .. ' ' .. t.id)
  if sealed ~= '' then redis.call('SET', secret_key(ref), sealed) else redis.call('DEL', secret_key(ref)) end
  note_configs(t)
  return true
end

-- Takes the lane off every list of work; what it holds stays.
local function idle_lane(ref)
  redis.call('ZREM', LANES, ref)
  redis.call('ZREM', AGES, ref)
  redis.call('HDEL', lane_key(ref), 'on', 'holder', 'until', 'n', 'slot', 'first', 'note', 'bytes')
end

-- Destroys a config with its credential and all that was still to be sent.
local function destroy_config(task, ref)
  local config = redis.call('HGET', push_key(task), ref) or redis.call('GET', ended_key(ref))
  if config then redis.call('ZREM', owner_key(cjson.decode(config).owner or ''), ref .. ' ' .. task) end
  redis.call('HDEL', push_key(task), ref)
  redis.call('ZREM', LANES, ref)
  redis.call('ZREM', AGES, ref)
  redis.call('DEL', secret_key(ref), lane_key(ref), entries_key(ref), ended_key(ref))
  redis.call('SPUBLISH', P .. 'push:gone', ref)
end

-- Ends a config whose task has ended and whose last push has too (OW-46). Only dead letters keep it, out of the
-- client's sight and for `keep` milliseconds, so that an operator can still replay them (Q16).
local function retire_config(task, ref, keep)
  local config = redis.call('HGET', push_key(task), ref) or redis.call('GET', ended_key(ref))
  local dead = tonumber(redis.call('HGET', lane_key(ref), 'dead') or 0)
  if dead <= 0 or keep <= 0 or not config then
    destroy_config(task, ref)
  elseif redis.call('HDEL', push_key(task), ref) == 1 then
    redis.call('SET', ended_key(ref), config, 'PX', keep)
    redis.call('ZADD', owner_key(cjson.decode(config).owner or ''), now + keep, ref .. ' ' .. task)
    redis.call('PEXPIRE', secret_key(ref), keep)
    redis.call('PEXPIRE', lane_key(ref), keep)
  end
  local t = load(task)
  if t then
    note_configs(t)
    if t.touched then save(t) end
  end
end

-- Whether a lane that has come to rest has seen the last event of its task: that may still stand in the outbox.
local function is_over(task, ref)
  local t = redis.call('HMGET', task_key(task), 'a2a', 'seq')
  if not t[1] then return true end
  return TERMINAL[tonumber(t[1])] == true and tonumber(redis.call('HGET', lane_key(ref), 'last') or 0) >= tonumber(t[2])
end

-- Puts an entry at the end of a lane and starts the lane if it stands still. Answers the number under which it has to
-- be queued, or nil where that was done before; and whether the lane is full, by number or bytes, and holds the entry
-- not. An empty lane takes any entry, or one that is larger than the limit could never be sent.
local function push_entry(ref, task, entry, ms, due)
  local lane = lane_key(ref)
  local length = redis.call('LLEN', entries_key(ref))
  local held = tonumber(redis.call('HGET', lane, 'bytes') or 0)
  if length > 0 and (length >= tonumber(A.depth) or held + #entry > tonumber(A.lanebytes)) then return nil, true end
  redis.call('RPUSH', entries_key(ref), entry)
  redis.call('HINCRBY', lane, 'bytes', #entry)
  if length == 0 then redis.call('ZADD', AGES, ms, ref) end
  if redis.call('HGET', lane, 'on') == '1' then return nil end
  redis.call('HSET', lane, 'on', '1', 'task', task)
  redis.call('ZADD', LANES, due, ref)
  return redis.call('HINCRBY', lane, 'gen', 1)
end

local function split_entry(entry)
  local seq, ms, version, at = string.match(entry, '^(%d+) (%d+) (%S+) ()')
  return seq, ms, version, string.sub(entry, at)
end

-- Takes the first entry off a lane.
local function pop_entry(ref, entry)
  redis.call('LTRIM', entries_key(ref), 1, -1)
  redis.call('HINCRBY', lane_key(ref), 'bytes', -#entry)
end

-- Takes a dead letter off the list and the sum, with what it holds; answers how many there were.
local function drop_dead(id)
  if redis.call('ZREM', DEAD, id) == 0 then return 0 end
  redis.call('DEL', dead_key(id))
  -- Subtracted, as a negated nothing would be "-0", which is no integer to Redis.
  redis.call('HINCRBY', DEAD_BYTES, 'all', 0 - (redis.call('HGET', DEAD_BYTES, id) or 0))
  redis.call('HDEL', DEAD_BYTES, id)
  return 1
end

-- Makes a dead letter of an entry (OW-52). `note` is the last failure as JSON; it holds no secret and no body. The
-- oldest ones go where there are too many or too large ones, but never the last.
local function bury(ref, task, entry, reason, attempts, first, note)
  local seq, ms, form, bytes = split_entry(entry)
  local version, trace = string.match(form, '^([^;]+);?(.*)$')
  local config = cjson.decode(redis.call('HGET', push_key(task), ref) or redis.call('GET', ended_key(ref)) or '{}')
  local id = ref .. '-' .. seq
  if redis.call('ZADD', DEAD, now, id) == 1 then redis.call('HINCRBY', lane_key(ref), 'dead', 1) end
  redis.call('HSET', dead_key(id), 'ref', ref, 'task', task, 'config', config.id or '', 'owner', config.owner or '',
    'host', config.host or '', 'seq', seq, 'ms', ms, 'version', version, 'bytes', bytes, 'trace', trace, 'reason', reason,
    'attempts', attempts, 'first', first, 'at', now, 'note', note)
  local ttl = tonumber(A.ttl)
  redis.call('PEXPIRE', dead_key(id), ttl)
  local before = tonumber(redis.call('HGET', DEAD_BYTES, id) or 0)
  redis.call('HSET', DEAD_BYTES, id, #bytes)
  redis.call('HINCRBY', DEAD_BYTES, 'all', #bytes - before)
  for _, old in ipairs(redis.call('ZRANGEBYSCORE', DEAD, '-inf', now - ttl, 'LIMIT', 0, 100)) do drop_dead(old) end
  for _, old in ipairs(redis.call('ZRANGE', DEAD, 0, -tonumber(A.deadlimit) - 1)) do drop_dead(old) end
  while tonumber(redis.call('HGET', DEAD_BYTES, 'all')) > tonumber(A.deadbytes) and redis.call('ZCARD', DEAD) > 1 do
    drop_dead(redis.call('ZRANGE', DEAD, 0, 0)[1])
  end
end

-- What a worker needs for the next delivery of a lane that it holds: {'head', "<seq> <ms> <version> <attempts> <slot>
-- <ms of the first attempt> <task>", config, sealed credential, bytes}, or {'empty'} where there is none and the lane
-- has come to rest, or {'gone'} where the config was deleted. `lane` is the lane's hash, `entry` its first.
local function head_of(ref, lane, entry, holder, lease, keep)
  if not lane.task then return { 'gone' } end
  if not entry then
    idle_lane(ref)
    if is_over(lane.task, ref) then retire_config(lane.task, ref, keep) end
    return { 'empty' }
  end
  local config = redis.call('HGET', push_key(lane.task), ref) or redis.call('GET', ended_key(ref))
  if not config then
    destroy_config(lane.task, ref)
    return { 'gone' }
  end
  local seq, ms, version, bytes = split_entry(entry)
  -- Written at most once a second: a lease is that much longer than an attempt can take.
  if lane.holder ~= holder or tonumber(lane['until']) - now < lease - 1000 then
    redis.call('HSET', lane_key(ref), 'holder', holder, 'until', now + lease)
    redis.call('ZADD', LANES, now + lease, ref)
    redis.call('ZADD', AGES, ms, ref)
  end
  return { 'head', table.concat({ seq, ms, version, lane.n or '0', lane.slot and '1' or '0', lane.first or '0', lane.task }, ' '),
    config, redis.call('GET', secret_key(ref)) or '', bytes }
end
