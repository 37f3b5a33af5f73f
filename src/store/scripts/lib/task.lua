-- The task record, its log and its indexes. Included by every script; nothing else writes these keys.
-- P is the agent's key prefix (KEYS[1]); now is Redis time in milliseconds, the only clock of the store.

local P = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
-- Commands get texts: Redis prints a number so that no digit of any is lost, which takes as long as many a command.
local now_text = string.format('%d', now)
local now_us_text = string.format('%s%06d', clock[1], clock[2])
local LOG_LENGTH = '1000'
local TERMINAL = { [3] = true, [4] = true, [5] = true, [7] = true }

local function task_key(id) return P .. 'task:' .. id end

-- The record as a table of strings, or nil. `id` is added; `touched` collects what save() writes.
local function load(id)
  -- An id that names another key of a task, such as its log, is no task: it must not be told from an unknown one.
  local flat = redis.pcall('HGETALL', task_key(id))
  if flat.err or #flat == 0 then return nil end
  local t = {}
  for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end
  t.id = id
  return t
end

local function decode_list(json)
  if not json or json == '' then return {} end
  return cjson.decode(json)
end

local function has(list, item)
  for _, candidate in ipairs(list) do
    if candidate == item then return true end
  end
  return false
end

-- Whether a client may see the task: it sent it, or the agent shares its queues and the client is granted this one. The
-- operator sees everything.
local function visible(t, caller, shared, queues)
  if t == nil then return false end
  if t.owner == caller or shared == '*' then return true end
  return shared == '1' and has(decode_list(queues), t.queue)
end

local function put(t, name, value)
  t[name] = tostring(value)
  t.touched = t.touched or {}
  t.touched[name] = true
end

local function drop(t, ...)
  for _, name in ipairs({ ... }) do
    if t[name] ~= nil then
      t[name] = nil
      t.touched = t.touched or {}
      t.touched[name] = true
    end
  end
end

-- Names a version of the record by its fields `v` and `vt`, either of which may be missing.
local function version_text(v, vt) return (v or '') .. '.' .. (vt or '') end

-- Writes the collected changes and counts the version up: once per script and record, at its end. A version is told by
-- its time too: a server that lost its newest writes in a failover counts those after them like the lost ones.
local function save(t)
  put(t, 'v', (tonumber(t.v) or 0) + 1)
  put(t, 'vt', now_us_text)
  local set, del = {}, {}
  for name in pairs(t.touched) do
    if t[name] == nil then
      del[#del + 1] = name
    else
      set[#set + 1] = name
      set[#set + 1] = t[name]
    end
  end
  if #del > 0 then redis.call('HDEL', task_key(t.id), unpack(del)) end
  redis.call('HSET', task_key(t.id), unpack(set))
  t.touched = nil
end

-- Index keys that a task stands in, for one scope, context and state. The context comes last: it is any text of the
-- client, and must not read like a part that follows it.
local function index_keys(scope, context, state)
  local base = P .. 'idx:' .. scope
  local by_state, context_part = base .. ':s' .. state, ':c:' .. context
  return base, by_state, base .. context_part, by_state .. context_part
end

-- Every task of the agent, in the one set of its state: what operators search and count.
local function state_key(state) return P .. 'idx:a:s' .. state end

-- The listing of a scope that was opened last: the moment at which it is pinned, and until when it is open; 0 for none.
local function pin_of(scope)
  local pin = redis.call('HMGET', P .. 'idx:' .. scope .. ':pin', 'asof', 'until')
  return { asof = tonumber(pin[1] or 0), open_until = tonumber(pin[2] or 0) }
end

-- While a listing is open, the place that a task leaves is kept, so that no page skips it (SB-35).
local function remember_place(scope, pin, t, at)
  if pin.open_until <= now then return end
  local moved = P .. 'idx:' .. scope .. ':moved'
  local place = cjson.encode({ id = t.id, c = t.ctx, s = t.a2a, m = at })
  redis.call('ZADD', moved, t.at, place)
  redis.call('PEXPIREAT', moved, pin.open_until)
end

-- The time of the next status of t: never before the last one, never the moment an open listing was pinned at, and
-- never a whole second, because JSON prints that without its fraction digits.
local function status_time(t, pins)
  local at = math.max(now, tonumber(t.at or 0))
  for _, pin in ipairs(pins) do
    if at <= pin.asof then at = pin.asof + 1 end
  end
  if at % 1000 == 0 then at = at + 1 end
  return at
end

local function reindex(t, scopes, pins, state, at)
  local score = string.format('%d', at)
  local moves = t.a2a ~= nil and t.a2a ~= state
  if moves then redis.call('ZREM', state_key(t.a2a), t.id) end
  redis.call('ZADD', state_key(state), score, t.id)
  for i, scope in ipairs(scopes) do
    if t.at ~= nil then remember_place(scope, pins[i], t, at) end
    if moves then
      local _, by_state, _, by_both = index_keys(scope, t.ctx, t.a2a)
      redis.call('ZREM', by_state, t.id)
      redis.call('ZREM', by_both, t.id)
    end
    local base, by_state, by_context, by_both = index_keys(scope, t.ctx, state)
    redis.call('ZADD', base, score, t.id)
    redis.call('ZADD', by_state, score, t.id)
    redis.call('ZADD', by_context, score, t.id)
    redis.call('ZADD', by_both, score, t.id)
  end
end

local function unindex(t)
  redis.call('ZREM', state_key(t.a2a), t.id)
  for _, scope in ipairs(decode_list(t.scopes)) do
    for _, key in ipairs({ index_keys(scope, t.ctx, t.a2a) }) do redis.call('ZREM', key, t.id) end
  end
end

local function history_key(id) return task_key(id) .. ':history' end

-- What frames a message or an artifact inside its task, at most.
local FRAME = 16
-- What an artifact counts besides its bytes. Each is a key, and a read of the task reads them all: without this, a task
-- of very many empty ones would be small and block the server whenever it is read.
local ARTIFACT = 256

-- Bytes of the Task that a client reads, as far as they grow: history, artifacts, and the status message.
local function size_of(t) return (tonumber(t.size) or 0) + (t.smsg and #t.smsg + FRAME or 0) end

local function grow(t, by) put(t, 'size', (tonumber(t.size) or 0) + by) end

-- Appends a Message to the history; answers its 1-based position, and how many bytes it takes there.
local function add_history(t, message)
  local framed = field(42, message)
  redis.call('APPEND', history_key(t.id), framed)
  grow(t, #message + FRAME)
  put(t, 'messages', (tonumber(t.messages) or 0) + 1)
  return t.messages, #framed
end

-- A Message that says which task and context it belongs to: of a field written twice, the last one counts.
local function placed(t, message) return message .. field(18, t.ctx) .. field(26, t.id) end

-- What a message adds to the task, as status or in the history; none adds nothing.
local function message_growth(t, message)
  if not message or message == '' then return 0 end
  return #placed(t, message) + FRAME
end

local task_bytes

-- Where a push of t hangs in a trace, as `<traceparent>;<traceparent of a link>;<tracestate>`, or ''. Below this very
-- change, where that belongs to the trace of the task; else below the task's own start, with the change as a link. A
-- task without a trace has those of its changes.
local function push_trace(t)
  local own = t.trace or ''
  if own == '' then return TRACE == '' and '' or TRACE .. ';;' end
  local state = ';' .. (t.tracestate or '')
  if TRACE == '' then return own .. ';' .. state end
  if string.sub(TRACE, 4, 35) == string.sub(own, 4, 35) then return TRACE .. ';' .. state end
  return own .. ';' .. TRACE .. state
end

local OUTBOX = P .. 'outbox'
-- Of what stands in the outbox: `bytes` of events and Tasks; `thin` where it was so many that Tasks are left out until
-- it is empty. Not earlier: a Task that is printed later than those behind it would take its receiver back in time.
local OUTBOX_HELD = P .. 'outbox-held'
local OUTBOX_BYTES = 64 * 1024 * 1024

-- The whole Task for 0.3 receivers, or '' where the outbox holds too much: nobody relays, and each event of a large task
-- would add all of it once more. Then the relay prints it.
local function whole_task(t, event)
  local held = redis.call('HMGET', OUTBOX_HELD, 'bytes', 'thin')
  if held[2] then return '' end
  local whole = task_bytes(t, -1, true)
  if tonumber(held[1] or 0) + #event + #whole <= OUTBOX_BYTES then return whole end
  redis.call('HSET', OUTBOX_HELD, 'thin', 1)
  return ''
end

-- Records the event for the task's push configs, in the same unit as the change that caused it, so that no crash can
-- lose a push (D1). 1.0 receivers get the event, 0.3 receivers the whole Task as it is now.
local function to_outbox(t, seq, event)
  if not t.push and not t.push03 then return end
  local own = t.push and event or ''
  local whole = t.push03 and whole_task(t, own) or ''
  redis.call('XADD', OUTBOX, '*', 't', t.id, 's', seq, 'm', now_text, 'c', t.push or '', 'd', t.push03 or '',
    'e', own, 'w', whole, 'x', push_trace(t))
  redis.call('HINCRBY', OUTBOX_HELD, 'bytes', #own + #whole)
  redis.call('SPUBLISH', P .. 'outbox:bell', seq)
end

-- Numbers an event, writes it to the log, publishes it and has it pushed. `event` is StreamResponse bytes.
local function emit(t, event)
  put(t, 'seq', (tonumber(t.seq) or 0) + 1)
  local key, seq = task_key(t.id), t.seq
  to_outbox(t, seq, event)
  redis.call('XADD', key .. ':log', 'MAXLEN', '~', LOG_LENGTH, seq .. '-0', 'e', event, 'm', now_text)
  redis.call('SPUBLISH', key, 'e' .. seq .. ':' .. event)
  return seq
end

-- What a status says of its time: when the thing happened that it reports, where that is known, else when it was stored.
local function shown_time(t) return tonumber(t.ts or t.at) end

-- Moves the task to an A2A state with a status message, and tells everybody. The message that it replaces becomes
-- history (A2A-73). `metadata` (Struct bytes) and `ts` (milliseconds) are for tasks that mirror another system's.
local function set_status(t, state, message, metadata, ts)
  local scopes, pins = decode_list(t.scopes), {}
  for i, scope in ipairs(scopes) do pins[i] = pin_of(scope) end
  local at = status_time(t, pins)
  reindex(t, scopes, pins, tostring(state), at)
  if t.smsg and not t.smsgkept then add_history(t, t.smsg) end
  drop(t, 'smsgkept')
  if message and message ~= '' then put(t, 'smsg', placed(t, message)) else drop(t, 'smsg') end
  put(t, 'a2a', state)
  put(t, 'at', at)
  if ts then put(t, 'ts', ts) else drop(t, 'ts') end
  local status = task_status(state, t.smsg, shown_time(t))
  return emit(t, field(26, field(10, t.id) .. field(18, t.ctx) .. field(26, status) .. field(34, metadata)))
end

-- The part of the history that an answer carries: nil for none, all for limit -1, else the last `limit` messages.
local function history_frames(t, limit)
  if limit == 0 then return '' end
  local bytes = redis.call('GET', history_key(t.id)) or ''
  local total = tonumber(t.messages) or 0
  if limit < 0 or total <= limit then return bytes end
  local at = 1
  for _ = 1, total - limit do
    local _, next_at = frame(bytes, at)
    at = next_at
  end
  return string.sub(bytes, at)
end

local function artifact_key(id, artifact_id) return task_key(id) .. ':artifact:' .. artifact_id end

-- lf.a2a.v1.Task bytes: the answer itself, put together from its stored parts.
task_bytes = function(t, history_length, with_artifacts)
  local out = { field(10, t.id), field(18, t.ctx), field(26, task_status(tonumber(t.a2a), t.smsg, shown_time(t))) }
  if with_artifacts and t.artifacts then
    for _, artifact_id in ipairs(cjson.decode(t.artifacts)) do
      out[#out + 1] = field(34, redis.call('GET', artifact_key(t.id, artifact_id)))
    end
  end
  out[#out + 1] = history_frames(t, history_length)
  out[#out + 1] = field(50, t.meta or retry_metadata(t))
  return table.concat(out)
end

-- What an artifact, or a part appended to one, adds to the task.
local function artifact_growth(t, artifact_id, artifact, append)
  if append then return #artifact + FRAME end
  local old = redis.call('STRLEN', artifact_key(t.id, artifact_id))
  return #artifact - old + (old == 0 and ARTIFACT or 0)
end

-- Stores artifact bytes, whole or appended (A2A-93), and emits the event.
local function put_artifact(t, artifact_id, artifact, append, last_chunk)
  local ids = decode_list(t.artifacts)
  local key = artifact_key(t.id, artifact_id)
  grow(t, artifact_growth(t, artifact_id, artifact, append))
  if not has(ids, artifact_id) then
    ids[#ids + 1] = artifact_id
    put(t, 'artifacts', cjson.encode(ids))
  end
  if append then redis.call('APPEND', key, artifact) else redis.call('SET', key, artifact) end
  local event = field(10, t.id) .. field(18, t.ctx) .. field(26, artifact)
  if append then event = event .. char(32, 1) end
  if last_chunk then event = event .. char(40, 1) end
  return emit(t, field(34, event))
end

local function audit_of(id, seq, event, actor, from, to)
  redis.call('XADD', P .. 'audit', 'MAXLEN', '~', '100000', '*', 'task', id, 'event', event, 'actor', actor,
    'from', from, 'to', to, 'seq', seq)
end

local function trail_key(id) return task_key(id) .. ':trail' end

-- The same once more for the task, so that what happened to it is found without a search:
-- "<ms> <seq> <event> <from> <to> <actor>", `-` for nothing.
local function trail_of(id, seq, event, actor, from, to)
  if from == '' then from = '-' end
  if to == '' then to = '-' end
  local line = now_text .. ' ' .. seq .. ' ' .. event .. ' ' .. from .. ' ' .. to .. ' ' .. actor
  local key = trail_key(id)
  if redis.call('RPUSH', key, line) > tonumber(LOG_LENGTH) then redis.call('LPOP', key) end
end

local function audit(t, event, actor, from)
  local seq = t.seq or '0'
  audit_of(t.id, seq, event, actor, from or '', t.state)
  trail_of(t.id, seq, event, actor, from or '', t.state)
end
