-- Runs on an OpenWOP host: the same task record, with a view of the run beside it. Fields of the record: `run` (the view,
-- JSON), `cursor` (last event sequence taken in), `rv` (counts what was applied), `cred` (name of the credential, never
-- the credential), `ikind` (interruptKind of the A2ATaskState), `rfence` and `rholder` (who follows the run), `fork` (where
-- it was forked from, JSON: { mode, sourceTaskId }).

local DUE = P .. 'runs:due'
local ENDED = P .. 'runs:ended'
local INTENTS = P .. 'runs:intents'

local function intent_key(msgkey) return msgkey .. ':intent' end

local RUN_FIELDS = { 'id', 'owner', 'ctx', 'a2a', 'run', 'cursor', 'rv', 'cred', 'ikind', 'rfence', 'rholder', 'ts', 'at',
  'purposes', 'artifacts', 'fork' }

local function run_view(t)
  local out = {}
  for _, name in ipairs(RUN_FIELDS) do
    if t[name] ~= nil then
      out[#out + 1] = name
      out[#out + 1] = t[name]
    end
  end
  return out
end

local function flat_intent(msgkey)
  local flat = redis.call('HGETALL', intent_key(msgkey))
  flat[#flat + 1] = 'msgkey'
  flat[#flat + 1] = msgkey
  return flat
end

-- A new owner of a run's events. The number only grows, so what an earlier owner still sends is told apart.
local function take_run(t, holder, ttl)
  put(t, 'rfence', (tonumber(t.rfence) or 0) + 1)
  put(t, 'rholder', holder)
  redis.call('ZADD', DUE, now + ttl, t.id)
end

local function end_run(t)
  redis.call('ZREM', DUE, t.id)
  redis.call('ZADD', ENDED, now, t.id)
  drop(t, 'rholder')
  if t.msgkey then redis.call('PEXPIRE', t.msgkey, DEDUP_MS) end
end
