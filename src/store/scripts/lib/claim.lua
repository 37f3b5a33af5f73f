-- Claims (T3 to T5, SB-10 to SB-12, SB-18). `who` is a table of texts: `worker`, the endpoint; `claimant`, the name that the
-- worker gives itself, and `actor`, its endpoint's; `fence`, or '' for none; `ttl` of the lease in milliseconds; `keep`, how
-- many attempts the todo remembers.

local function take(t, who)
  -- A released attempt was not spent: this claim goes by its number again (SB-20).
  if t.unspent then drop(t, 'unspent') else put(t, 'attempt', tonumber(t.attempt) + 1) end
  put(t, 'holder', who.worker)
  put(t, 'claimant', who.claimant)
  put(t, 'lease', now + tonumber(who.ttl))
  if who.fence ~= '' then put(t, 'fence', who.fence) end
  drop(t, 'nb')
  local prior = closed_attempts(t, 5)
  note_worker(t.queue, who.worker, who.claimant)
  open_attempt(t, who.claimant, tonumber(who.keep))
  step(t, 'claim', who.actor, nil)
  save(t)
  return { 'ok', todo_view(t), prior }
end

-- Work that is assigned is for the worker of that name: the endpoint's, or the one that it gives for itself.
local function is_for(t, who) return not t.assignee or t.assignee == who.claimant or t.assignee == who.actor end

local function claim_by_id(id, queues, who)
  local t = load(id)
  if not t or not has(decode_list(queues), t.queue) then return { 'notfound' } end
  if t.state == 'claimed' and tonumber(t.lease) <= now then
    expire_lease(t, 'lease_expired')
    t = load(id)
  end
  if t.state ~= 'pending' or tonumber(t.nb or 0) > now or not is_for(t, who) then return { 'conflict' } end
  return take(t, who)
end

local function first_for(queue, who)
  local ready = queue_key(queue, 'ready')
  -- Nearly always the first is the one; only where it is not are more looked at.
  local from, size = 0, 1
  while true do
    local ids = redis.call('ZRANGE', ready, from, from + size - 1)
    if #ids == 0 then return nil end
    for _, id in ipairs(ids) do
      local t = load(id)
      if t and t.state == 'pending' then
        if is_for(t, who) then return t end
        from = from + 1
      else
        redis.call('ZREM', ready, id)
      end
    end
    size = 50
  end
end

local function claim_next(queue, who)
  settle_queue(queue, 'lease_expired', 50)
  local t = first_for(queue, who)
  if t then return take(t, who) end
  note_worker(queue, who.worker, who.claimant)
  local soonest = ''
  for _, part in ipairs({ 'delayed', 'leased' }) do
    local first = redis.call('ZRANGE', queue_key(queue, part), 0, 0, 'WITHSCORES')
    if first[2] and (soonest == '' or tonumber(first[2]) < tonumber(soonest)) then soonest = first[2] end
  end
  return { 'empty', soonest == '' and '' or tostring(math.max(0, tonumber(soonest) - now)) }
end
