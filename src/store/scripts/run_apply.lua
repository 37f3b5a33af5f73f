-- Brings a task up with its run: what one or more events of the run changed, all or nothing. Whoever applies must have
-- seen everything that was applied before (`rv`), so events are taken in once and in order, whoever reads them; an ended
-- task never changes (A2A-55).
-- KEYS  1 agent prefix
-- ARGV  the named ones, then six for each effect: 's', A2A state, message, metadata, time or '', interrupt kind; or
--       'a', artifact id, Artifact bytes, '', '', ''. `fence` '' is for a reader that does not follow the run.
-- Answers {'ok', rv}, {'notfound'}, {'terminal'}, {'fenced'} or {'moved'}.
-- @args id fence rv cursor view actor
-- @include wire retry_metadata task push run

local t = load(A.id)
if t == nil or t.run == nil then return { 'notfound' } end
if TERMINAL[tonumber(t.a2a)] then return { 'terminal' } end
if A.fence ~= '' and t.rfence ~= A.fence then return { 'fenced' } end
if t.rv ~= A.rv then return { 'moved' } end

put(t, 'rv', tonumber(t.rv) + 1)
put(t, 'cursor', A.cursor)
put(t, 'run', A.view)
put(t, 'updated', now)
for i = ARGS + 1, #ARGV, 6 do
  if ARGV[i] == 'a' then
    put_artifact(t, ARGV[i + 1], ARGV[i + 2], false, true)
  else
    local from, state = t.a2a, tonumber(ARGV[i + 1])
    local metadata = ARGV[i + 3]
    if metadata == '' then drop(t, 'meta') else put(t, 'meta', metadata) end
    if ARGV[i + 5] == '' then drop(t, 'ikind') else put(t, 'ikind', ARGV[i + 5]) end
    set_status(t, state, ARGV[i + 2], t.meta, tonumber(ARGV[i + 4]))
    audit(t, 'run', A.actor, from)
    if TERMINAL[state] then end_run(t) end
  end
end
save(t)
return { 'ok', t.rv }
