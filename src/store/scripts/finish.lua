-- The holder's ways to end an attempt: complete, fail, release, reject (T7 to T10).
-- KEYS  1 agent prefix
-- ARGV  the named ones, then pairs of artifact id and Artifact bytes, stored before a completion.
-- Answers {'ok', view}, {'notfound'}, {'conflict'} or {'full'}: the task would be larger than `cap` bytes.
-- @args verb id worker queues fence message summary truncated artifact actor permanent backoff reason cap
-- @include wire retry_metadata task todo

local STATES = {
  complete = { 'claimed' },
  fail = { 'claimed' },
  release = { 'claimed', 'input-required', 'auth-required' },
  reject = { 'claimed' },
}
local t = load(A.id)
local fault = holder_fault(t, A.worker, A.queues, A.fence, STATES[A.verb])
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
return { 'ok', todo_view(t) }
