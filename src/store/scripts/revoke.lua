-- Dead-letters open todos of a revoked or expired endpoint (T18, SB-27).
-- KEYS  1 agent prefix
-- Answers how many it ended; run again while that is not 0.
-- @args owner message limit actor
-- @include wire retry_metadata task todo

local done = 0
for _, state in ipairs({ 1, 2, 6, 8 }) do
  local key = P .. 'idx:e:' .. A.owner .. ':s' .. state
  for _, id in ipairs(redis.call('ZRANGE', key, 0, tonumber(A.limit) - 1)) do
    local t = load(id)
    -- A run belongs to its host, which knows nothing of our endpoints: it goes on.
    if t and t.run then return done end
    if t then
      put(t, 'lastfail', 'endpoint_revoked')
      close_attempt(t, 'revoked', 'dead_lettered')
      clear_lease(t)
      drop(t, 'nb')
      step(t, 'revoke', A.actor, A.message)
      save(t)
    else
      redis.call('ZREM', key, id)
    end
    done = done + 1
  end
end
return done
