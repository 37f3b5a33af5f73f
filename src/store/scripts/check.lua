-- Tells of tasks that a reader has at hand whether they are still what is stored, without reading them.
-- KEYS  1 agent prefix
-- ARGV  five for each task: id, caller, shared, queues, and the version at hand, as the read script has them.
-- Answers a text of one character for each: '1' where that is the task's version and the caller may see it, else '0'.
-- @include task

local out = {}
for i = ARGS + 1, #ARGV, 5 do
  -- An error is that of an id that names another key of a task, as in load().
  local found = redis.pcall('HMGET', task_key(ARGV[i]), 'v', 'vt', 'owner', 'queue')
  local current = found[1] and version_text(found[1], found[2]) == ARGV[i + 4]
    and visible({ owner = found[3], queue = found[4] }, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  out[#out + 1] = current and '1' or '0'
end
return table.concat(out)
