-- Claims the oldest claimable todo of a queue, or one by id (T3 to T5, SB-10 to SB-12, SB-18).
-- KEYS  1 agent prefix
-- Answers {'ok', view, attempts}, {'empty', ms of the next due work or ''}, {'notfound'} or {'conflict'}.
-- @args worker queues queue id ttl claimant fence actor keep
-- @include wire retry_metadata task todo

local function take(t)
  -- A released attempt was not spent: this claim goes by its number again (SB-20).
  if t.unspent then drop(t, 'unspent') else put(t, 'attempt', tonumber(t.attempt) + 1) end
  put(t, 'holder', A.worker)
  put(t, 'claimant', A.claimant)
  put(t, 'lease', now + tonumber(A.ttl))
  if A.fence ~= '' then put(t, 'fence', A.fence) end
  drop(t, 'nb')
  local prior = closed_attempts(t, 5)
  note_worker(t.queue, A.worker, A.claimant)
  open_attempt(t, A.claimant, tonumber(A.keep))
  step(t, 'claim', A.actor, nil)
  save(t)
  return { 'ok', todo_view(t), prior }
end

-- Work that is assigned is for the worker of that name: the endpoint's, or the one that it gives for itself.
local function mine(t) return not t.assignee or t.assignee == A.claimant or t.assignee == A.actor end

if A.id ~= '' then
  local t = load(A.id)
  if not t or not has(decode_list(A.queues), t.queue) then return { 'notfound' } end
  if t.state == 'claimed' and tonumber(t.lease) <= now then
    expire_lease(t, 'lease_expired')
    t = load(A.id)
  end
  if t.state ~= 'pending' or tonumber(t.nb or 0) > now or not mine(t) then return { 'conflict' } end
  return take(t)
end

settle_queue(A.queue, 'lease_expired', 50)
local ready = queue_key(A.queue, 'ready')
-- Nearly always the first is the one; only where it is not are more looked at.
local from, size = 0, 1
while true do
  local ids = redis.call('ZRANGE', ready, from, from + size - 1)
  if #ids == 0 then break end
  for _, id in ipairs(ids) do
    local t = load(id)
    if t and t.state == 'pending' then
      if mine(t) then return take(t) end
      from = from + 1
    else
      redis.call('ZREM', ready, id)
    end
  end
  size = 50
end
note_worker(A.queue, A.worker, A.claimant)
local soonest = ''
for _, part in ipairs({ 'delayed', 'leased' }) do
  local first = redis.call('ZRANGE', queue_key(A.queue, part), 0, 0, 'WITHSCORES')
  if first[2] and (soonest == '' or tonumber(first[2]) < tonumber(soonest)) then soonest = first[2] end
end
return { 'empty', soonest == '' and '' or tostring(math.max(0, tonumber(soonest) - now)) }
