-- Everything that an operator may know of one task.
-- KEYS  1 agent prefix
-- ARGV  named below; `known` is the revision that the reader has at hand, empty for none
-- Answers {'ok', Task bytes or '' where `known` is the revision, seq, A2A state, fields, attempts newest first, place in
-- line or '', push configs, when a run is due or '', revision} or {'notfound'}.
-- @args id attempts known
-- @include wire retry_metadata task push todo run

local NAMES = { 'id', 'ctx', 'owner', 'queue', 'title', 'kind', 'a2a', 'created', 'at', 'attempt', 'max', 'holder',
  'claimant', 'lease', 'smsg', 'state', 'assignee', 'aseq', 'nb', 'since', 'lastfail', 'source', 'run', 'ikind', 'cursor',
  'rholder', 'cred', 'v', 'seq', 'messages', 'artifacts', 'idem', 'updated' }

local t = load(A.id)
if t == nil then return { 'notfound' } end
local fields = {}
for _, name in ipairs(NAMES) do
  if t[name] ~= nil then
    fields[#fields + 1] = name
    fields[#fields + 1] = t[name]
  end
end
local attempts = {}
local texts = redis.call('LRANGE', attempts_key(t.id), -tonumber(A.attempts), -1)
for i = #texts, 1, -1 do attempts[#attempts + 1] = texts[i] end
local revision = version_text(t.v, t.vt)
return { 'ok', revision == A.known and '' or task_bytes(t, -1, true), t.seq, t.a2a, fields, attempts,
  tostring(redis.call('ZRANK', queue_key(t.queue, 'ready'), t.id) or ''), redis.call('HLEN', push_key(t.id)),
  t.run and redis.call('ZSCORE', DUE, t.id) or '', revision }
