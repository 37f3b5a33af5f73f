-- Brings a task up with its run: what one or more events of the run changed, all or nothing. Whoever applies must have
-- seen everything that was applied before (`rv`), so events are taken in once and in order, whoever reads them; an ended
-- task never changes (A2A-55).
-- KEYS  1 agent prefix
-- ARGV  the named ones, then six for each effect: 's', A2A state, message, metadata, time or '', interrupt kind; or
--       'a', artifact id, Artifact bytes, '', '', ''. `fence` '' is for a reader that does not follow the run.
-- What would make the task larger than `cap` bytes is left out, and a short text says so in its place: the host has done
-- it, so a refusal would only bring it again.
-- Answers {'ok', rv}, {'notfound'}, {'terminal'}, {'fenced'} or {'moved'}.
-- @args id fence rv cursor view actor cap notice
-- @include wire retry_metadata task push run

local t = load(A.id)
if t == nil or t.run == nil then return { 'notfound' } end
if TERMINAL[tonumber(t.a2a)] then return { 'terminal' } end
if A.fence ~= '' and t.rfence ~= A.fence then return { 'fenced' } end
if t.rv ~= A.rv then return { 'moved' } end

local CAP = tonumber(A.cap)
-- Notices are short, but may be many: they stop before they fill what is kept for the end.
local NOTICE_ROOM = 32768

-- A repeated lf.a2a.v1.Part with the notice as its text.
local function notice_part(tag) return field(tag, field(10, A.notice)) end

-- The artifact, a notice in its place, or nil for neither.
local function fitting_artifact(id, artifact)
  if size_of(t) + artifact_growth(t, id, artifact, false) <= CAP then return artifact end
  local notice = field(10, id) .. notice_part(34)
  return size_of(t) + artifact_growth(t, id, notice, false) <= CAP + NOTICE_ROOM and notice or nil
end

local function fitting_message(message)
  if size_of(t) + message_growth(t, message) <= CAP then return message end
  -- Role 2 is that of the agent.
  local notice = field(10, t.id .. '#left-out-' .. (t.seq or '0')) .. string.char(32, 2) .. notice_part(42)
  return size_of(t) + message_growth(t, notice) <= CAP + NOTICE_ROOM and notice or ''
end

put(t, 'rv', tonumber(t.rv) + 1)
put(t, 'cursor', A.cursor)
put(t, 'run', A.view)
put(t, 'updated', now)
for i = ARGS + 1, #ARGV, 6 do
  if ARGV[i] == 'a' then
    local artifact = fitting_artifact(ARGV[i + 1], ARGV[i + 2])
    if artifact then put_artifact(t, ARGV[i + 1], artifact, false, true) end
  else
    local from, state = t.a2a, tonumber(ARGV[i + 1])
    local metadata = ARGV[i + 3]
    if metadata == '' then drop(t, 'meta') else put(t, 'meta', metadata) end
    if ARGV[i + 5] == '' then drop(t, 'ikind') else put(t, 'ikind', ARGV[i + 5]) end
    set_status(t, state, fitting_message(ARGV[i + 2]), t.meta, tonumber(ARGV[i + 4]))
    audit(t, 'run', A.actor, from)
    if TERMINAL[state] then end_run(t) end
  end
end
save(t)
return { 'ok', t.rv }
