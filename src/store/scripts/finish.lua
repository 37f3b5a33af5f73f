-- The holder's ways to end an attempt: complete, fail, release, reject (T7 to T10).
-- KEYS  1 agent prefix
-- ARGV  the named ones, then pairs of artifact id and Artifact bytes, stored before a completion.
--       With `nextqueue`, the holder claims from that queue in the same unit, once this attempt has ended.
-- Answers {'ok', view, what a claim answers if one was asked for}, {'notfound'}, {'conflict'} or {'full'}: the task would
-- be larger than `cap` bytes.
-- @args verb id worker queues fence message summary truncated artifact actor permanent backoff reason cap nextqueue nextclaimant nextfence nextttl keep
-- @include wire retry_metadata task todo claim

-- A question to the client need not be waited for by who gives the todo back.
local states = A.verb == 'release' and { 'claimed', 'input-required', 'auth-required' } or { 'claimed' }
local t = load(A.id)
local fault = holder_fault(t, A.worker, A.queues, A.fence, states)
if fault then return { fault } end
local by = message_growth(t, A.message)
if A.verb == 'complete' then
  -- One that is named twice is counted twice: rather too much than too little.
  for i = ARGS + 1, #ARGV, 2 do by = by + artifact_growth(t, ARGV[i], ARGV[i + 1], false) end
end
if by > 0 and size_of(t) + by > tonumber(A.cap) then return { 'full' } end

local note = {}
if A.summary ~= '' then note.summary = A.summary end
if A.truncated == '1' then note.truncated = true end
if A.artifact ~= '' then note.artifact = A.artifact end

if A.verb == 'complete' then
  for i = ARGS + 1, #ARGV, 2 do put_artifact(t, ARGV[i], ARGV[i + 1], false, true) end
  close_attempt(t, 'completed', 'done', note)
  clear_lease(t)
  step(t, 'complete', A.actor, A.message)
elseif A.verb == 'fail' then
  if A.reason ~= '' then put(t, 'lastfail', A.reason) end
  if A.permanent ~= '1' and tonumber(t.attempt) < tonumber(t.max) then
    -- `backoff` holds base and cap in milliseconds and a random share of the delay to take away.
    local base, cap, jitter = string.match(A.backoff, '^(%S+) (%S+) (%S+)$')
    local delay = math.min(tonumber(cap), tonumber(base) * 2 ^ (tonumber(t.attempt) - 1))
    put(t, 'nb', math.floor(now + delay * (1 - tonumber(jitter))))
    close_attempt(t, 'failed', 'retry_scheduled', note)
    clear_lease(t)
    step(t, 'fail_retry', A.actor, A.message)
  else
    close_attempt(t, 'failed', 'dead_lettered', note)
    clear_lease(t)
    step(t, 'fail_dead', A.actor, A.message)
  end
elseif A.verb == 'release' then
  close_attempt(t, 'released', 'requeued', note)
  put(t, 'unspent', 1)
  clear_lease(t)
  step(t, 'release', A.actor, nil)
else
  close_attempt(t, 'rejected', 'rejected', note)
  clear_lease(t)
  step(t, 'reject', A.actor, A.message)
end
save(t)
local answer = { 'ok', todo_view(t) }
if A.nextqueue == '' then return answer end
-- What has ended is told, whatever becomes of the claim.
local went, next_todo = pcall(claim_next, A.nextqueue, {
  worker = A.worker, claimant = A.nextclaimant, actor = A.actor, fence = A.nextfence, ttl = A.nextttl, keep = A.keep,
})
answer[3] = went and next_todo or { 'empty', '' }
return answer
