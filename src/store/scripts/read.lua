-- Reads a task as its client sees it, with the log position that the answer stands at (A2A-57, A2A-87).
-- KEYS  1 agent prefix
-- ARGV  named below; `known` is the version that the reader has at hand, empty for none
-- Answers {'ok', Task bytes, seq, A2A state, version}, or 1 where `known` is the version, or {'notfound'}.
-- @args id caller shared queues history artifacts known
-- @include wire retry_metadata task

local t = load(A.id)
if not visible(t, A.caller, A.shared, A.queues) then return { 'notfound' } end
local version = version_text(t.v, t.vt)
if version == A.known then return 1 end
return { 'ok', task_bytes(t, tonumber(A.history), A.artifacts == '1'), t.seq, t.a2a, version }
