-- Destroys the push configs of a revoked endpoint with their credentials and all that was still to be sent, on whosever
-- tasks they are; a push under way is cut (SB-59, SB-75).
-- KEYS  1 agent prefix
-- Answers how many; run again while that is not 0.
-- @args owner limit actor
-- @include wire retry_metadata task push

local members = redis.call('ZRANGE', owner_key(A.owner), 0, tonumber(A.limit) - 1)
for _, member in ipairs(members) do
  local ref, task = string.match(member, '^(%S+) (.*)$')
  destroy_config(task, ref)
  -- Once more: a config that is gone by itself does not say whose it was.
  redis.call('ZREM', owner_key(A.owner), member)
  local t = load(task)
  if t then
    note_configs(t)
    audit(t, 'push_config_revoked', A.actor, t.state)
    save(t)
  end
end
return #members
