-- Takes lanes for delivering, and records what came of their first entries: many lanes in one call, each as if it had a
-- call of its own. A lane is given out with a lease: one worker at a time, whatever the queue does (B8); an outcome is
-- recorded once and by the lane's holder only (D11).
-- KEYS  1 agent prefix
-- ARGV  the named ones, then one for each step: "<verb> <ref> <at> <wait> <slot> <reason> <bytes of note> <note><log>";
-- a dash stands for nothing.
--   take       with the lane's number in `at`
--   head       answers the first entry again
--   delivered  the first entry, whose sequence is in `at`; so for the others:
--   dead       buried for `reason`
--   retry      an attempt failed, the next in `wait` ms
--   wait       nothing was sent, go on in `wait` ms; `slot` is a place reserved at the receiver's limiter
-- Answers for each step what head_of answers, or {'stale'}: the job was overtaken; {'busy', milliseconds}: another holds
-- the lane; {'waiting', attempts made}; {'fenced'}: the lane has another holder; {'again'}: done, but the answer is full,
-- ask for the head; {'failed', reason}: this step alone did not work.
-- @args holder lease keep ttl deadlimit deadbytes room
-- @include wire retry_metadata task push

local LEASE, KEEP = tonumber(A.lease), tonumber(A.keep)

local function take(ref, gen)
  local lane = pairs_of(redis.call('HGETALL', lane_key(ref)))
  if lane.gen ~= gen or lane.on ~= '1' then return { 'stale' } end
  if lane.holder and lane.holder ~= A.holder then
    local left = tonumber(lane['until']) - now
    if left > 0 then return { 'busy', left } end
  end
  return head_of(ref, lane, redis.call('LINDEX', entries_key(ref), 0), A.holder, LEASE, KEEP)
end

-- Leaves the lane to whoever comes when the wait is over.
local function put_back(key, ref, lane, step, entry)
  local attempts = tonumber(lane.n or 0)
  if step.verb == 'retry' then
    attempts = attempts + 1
    redis.call('HSET', key, 'n', attempts, 'note', step.note)
    if not lane.first then redis.call('HSET', key, 'first', now) end
  end
  redis.call('HDEL', key, 'holder', 'until', 'slot')
  if step.slot ~= '' then redis.call('HSET', key, 'slot', step.slot) end
  redis.call('ZADD', LANES, now + tonumber(step.wait) + LEASE, ref)
  redis.call('ZADD', AGES, string.match(entry, '^%d+ (%d+)'), ref)
  return { 'waiting', attempts }
end

local function settle(step)
  local ref = step.ref
  local key = lane_key(ref)
  local lane = pairs_of(redis.call('HGETALL', key))
  if not lane.task then return { 'gone' } end
  if lane.holder ~= A.holder then return { 'fenced' } end
  local entries = redis.call('LRANGE', entries_key(ref), 0, 1)
  if step.verb == 'head' then return head_of(ref, lane, entries[1], A.holder, LEASE, KEEP) end
  if not entries[1] or string.match(entries[1], '^%d+') ~= step.at then return { 'fenced' } end

  if step.log ~= '' then
    redis.call('XADD', P .. 'push-log', 'MAXLEN', '~', 10000, '*', 'ref', ref, 'task', lane.task, 'seq', step.at,
      'note', step.log)
  end
  if step.verb == 'retry' or step.verb == 'wait' then return put_back(key, ref, lane, step, entries[1]) end
  if step.verb == 'dead' then
    bury(ref, lane.task, entries[1], step.reason, tonumber(lane.n or 0) + (step.log ~= '' and 1 or 0),
      lane.first or '', step.note)
  end
  pop_entry(ref, entries[1])
  if lane.n or lane.slot then redis.call('HDEL', key, 'n', 'slot', 'first', 'note') end
  lane.n, lane.slot, lane.first = nil, nil, nil
  return head_of(ref, lane, entries[2], A.holder, LEASE, KEEP)
end

local function read(text)
  local verb, ref, at, wait, slot, reason, size, from =
    string.match(text, '^(%S+) (%S+) (%d+) (%d+) (%S+) (%S+) (%d+) ()')
  local rest = from + tonumber(size)
  return { verb = verb, ref = ref, at = at, wait = wait, slot = slot ~= '-' and slot or '', reason = reason,
    note = string.sub(text, from, rest - 1), log = string.sub(text, rest) }
end

local out = {}
local room = tonumber(A.room)
for i = ARGS + 1, #ARGV do
  local step = read(ARGV[i])
  local ok, answer = pcall(function()
    if step.verb == 'take' then return take(step.ref, step.at) end
    return settle(step)
  end)
  if not ok then answer = { 'failed', type(answer) == 'table' and answer.err or tostring(answer) } end
  if answer[1] == 'head' then
    -- The first one always has room, however large it is.
    local size = #answer[5]
    if #out > 0 and size > room then answer = { 'again' } else room = room - size end
  end
  out[#out + 1] = answer
end
return out
