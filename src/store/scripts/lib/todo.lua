-- Todos: queues, leases and attempts around the task record. TRANSITIONS and TASK_STATE come from domain/todo.ts.

local function queue_key(queue, part) return P .. 'queue:' .. queue .. ':' .. part end

local function attempts_key(id) return task_key(id) .. ':attempts' end

-- Makes the todo claimable, now or at its not-before time, and rings the queue.
local function enqueue(t)
  local not_before = tonumber(t.nb or 0)
  if not_before > now then
    redis.call('ZADD', queue_key(t.queue, 'delayed'), not_before, t.id)
  else
    redis.call('ZADD', queue_key(t.queue, 'ready'), t.order, t.id)
  end
  redis.call('SPUBLISH', queue_key(t.queue, 'bell'), cjson.encode({ id = t.id, title = t.title, at = not_before }))
end

-- Where a todo stands in its queue, by its state; a pending one that is not there yet is delayed.
local STANDS = {
  pending = 'ready', claimed = 'leased', ['input-required'] = 'waiting', ['auth-required'] = 'waiting', failed = 'dead',
}

-- Takes the todo out of where it stands. To be called while its state is still that of the place.
local function dequeue(t)
  local part = STANDS[t.state]
  if not part then return end
  if redis.call('ZREM', queue_key(t.queue, part), t.id) == 0 and t.state == 'pending' then
    redis.call('ZREM', queue_key(t.queue, 'delayed'), t.id)
  end
end

-- `keep`: how many attempts are kept, at least the open one and some before it; older ones are counted and go.
local function open_attempt(t, claimant, keep)
  local seq = (tonumber(t.aseq) or 0) + 1
  put(t, 'aseq', seq)
  put(t, 'aopen', 1)
  local key = attempts_key(t.id)
  local kept = redis.call('RPUSH', key, cjson.encode({
    seq = seq, attempt = tonumber(t.attempt), claimant = claimant, claimedAt = now,
  }))
  local surplus = kept - keep
  if surplus > 0 then
    redis.call('LPOP', key, surplus)
    put(t, 'apruned', (tonumber(t.apruned) or 0) + surplus)
  end
end

-- Changes the open attempt in place.
local function amend_attempt(t, changes)
  if t.aopen ~= '1' then return end
  local key = attempts_key(t.id)
  local attempt = cjson.decode(redis.call('LINDEX', key, -1))
  for name, value in pairs(changes) do attempt[name] = value end
  redis.call('LSET', key, -1, cjson.encode(attempt))
end

local function close_attempt(t, outcome, disposition, note)
  note = note or {}
  amend_attempt(t, {
    endedAt = now, outcome = outcome, disposition = disposition,
    summary = note.summary, summaryTruncated = note.truncated, artifact = note.artifact,
  })
  drop(t, 'aopen')
end

local function clear_lease(t)
  drop(t, 'holder', 'claimant', 'lease', 'fence', 'since')
end

-- The keys by which a retried request finds this task end a while after the task does (Q11); an idempotency key is
-- free again at once (SB-22). Another task may have taken it since, if this one had ended before.
local function release_dedup(t)
  if t.idem and redis.call('GET', t.idem) == t.id then redis.call('DEL', t.idem) end
  if t.msgkey then redis.call('PEXPIRE', t.msgkey, DEDUP_MS) end
end

-- Takes the keys back for a task that lives again, as far as nobody else has them.
local function retake_dedup(t)
  if t.idem then redis.call('SET', t.idem, t.id, 'NX') end
  if t.msgkey and string.match(redis.call('GET', t.msgkey) or '', '^(.-)|') == t.id then
    redis.call('PERSIST', t.msgkey)
  end
end

-- Who asked for work, or said that it is alive, and when: "<queue> <endpoint> <name>" by time. Names of queues hold no
-- space. Written at most every 5 seconds for each; kept for an hour, and no more than WORKERS_KEPT of them.
local WORKERS = P .. 'workers'
local WORKERS_KEPT = 1000
local WORKER_MS = 60 * 60 * 1000

local function note_worker(queue, endpoint, name)
  local member = queue .. ' ' .. endpoint .. ' ' .. name
  local seen = redis.call('ZSCORE', WORKERS, member)
  if seen and tonumber(seen) > now - 5000 then return end
  redis.call('ZADD', WORKERS, now_text, member)
  redis.call('PEXPIRE', WORKERS, WORKER_MS)
  if seen then return end
  redis.call('ZREMRANGEBYSCORE', WORKERS, '-inf', now - WORKER_MS)
  redis.call('ZREMRANGEBYRANK', WORKERS, 0, -WORKERS_KEPT - 1)
end

-- Puts the todo where it stands by its new state.
local function stand(t)
  local part = STANDS[t.state]
  if part == 'ready' then
    enqueue(t)
  elseif part == 'leased' then
    redis.call('ZADD', queue_key(t.queue, part), t.lease, t.id)
  elseif part then
    redis.call('ZADD', queue_key(t.queue, part), now_text, t.id)
  end
  if part == 'waiting' then put(t, 'since', now_text) end
end

-- Takes a legal step of the table: state, queue, status event, audit. The caller closes attempts and saves.
-- Answers false where the step is not legal.
local function step(t, event, actor, message)
  local from = t.state
  local to = TRANSITIONS[event .. ' ' .. from]
  if not to then return false end
  if to ~= from then dequeue(t) end
  put(t, 'state', to)
  put(t, 'updated', now_text)
  local state = TASK_STATE[to]
  set_status(t, state, message)
  if to ~= from then stand(t) end
  if TERMINAL[state] then
    redis.call('ZADD', P .. 'terminal', now_text, t.id)
    release_dedup(t)
  elseif TERMINAL[TASK_STATE[from]] then
    redis.call('ZREM', P .. 'terminal', t.id)
  end
  audit(t, event, actor, from)
  return true
end

-- The reason why `worker` may not act as the holder of t, or nil. `states` are those in which the act makes sense.
local function holder_fault(t, worker, queues, fence, states)
  if t == nil or not has(decode_list(queues), t.queue) then return 'notfound' end
  if t.holder ~= worker or not has(states, t.state) then return 'conflict' end
  if (t.fence or '') ~= fence then return 'conflict' end
  return nil
end

-- What a lapsed lease does to a todo (T4, T11, T12). `outcome`: `lease_expired` by a claim, `reaped` by the sweep.
local function expire_lease(t, outcome)
  if tonumber(t.attempt) >= tonumber(t.max) then
    close_attempt(t, outcome, 'dead_lettered')
    clear_lease(t)
    step(t, 'lease_dead', 'system', nil)
  else
    close_attempt(t, outcome, 'requeued')
    clear_lease(t)
    step(t, 'lease_requeue', 'system', nil)
  end
  save(t)
end

-- Moves due work of a queue to where a claim finds it: waiting retries whose time has come, and lapsed leases.
local function settle_queue(queue, outcome, limit)
  local due = redis.call('ZRANGEBYSCORE', queue_key(queue, 'delayed'), '-inf', now_text, 'LIMIT', '0', limit)
  for _, id in ipairs(due) do
    redis.call('ZREM', queue_key(queue, 'delayed'), id)
    local order = redis.call('HGET', task_key(id), 'order')
    if order then redis.call('ZADD', queue_key(queue, 'ready'), order, id) end
  end
  local lapsed = redis.call('ZRANGEBYSCORE', queue_key(queue, 'leased'), '-inf', now_text, 'LIMIT', '0', limit)
  for _, id in ipairs(lapsed) do
    local t = load(id)
    if t and t.state == 'claimed' then
      expire_lease(t, outcome)
    else
      redis.call('ZREM', queue_key(queue, 'leased'), id)
    end
  end
  return #due + #lapsed
end

-- What a worker is shown of a todo: TODO_FIELDS (store/todo-fields.ts) in their order, '' for none, then the first
-- message. History stays out.
local function todo_view(t)
  local out = {}
  for i, name in ipairs(TODO_FIELDS) do out[i] = t[name] or '' end
  out[#out + 1] = frame(redis.call('GETRANGE', history_key(t.id), '0', tonumber(t.flen) - 1), 1)
  return out
end

-- The newest closed attempts, newest first, as JSON texts.
local function closed_attempts(t, limit)
  if not t.aseq then return {} end
  local texts = redis.call('LRANGE', attempts_key(t.id), -(limit + 1), -1)
  local out = {}
  for i = #texts, 1, -1 do
    local open = t.aopen == '1' and i == #texts
    if not open and #out < limit then out[#out + 1] = texts[i] end
  end
  return out
end

-- Removes every trace of a task. A push that is still under way ends with its lane.
local function purge(t)
  for ref in pairs(pairs_of(redis.call('HGETALL', push_key(t.id)))) do
    if redis.call('HGET', lane_key(ref), 'on') ~= '1' then destroy_config(t.id, ref) end
  end
  unindex(t)
  dequeue(t)
  redis.call('ZREM', queue_key(t.queue, 'all'), t.id)
  redis.call('ZREM', P .. 'terminal', t.id)
  for _, artifact_id in ipairs(decode_list(t.artifacts)) do redis.call('DEL', artifact_key(t.id, artifact_id)) end
  local key = task_key(t.id)
  redis.call('DEL', key, key .. ':log', history_key(t.id), attempts_key(t.id), trail_key(t.id))
end
