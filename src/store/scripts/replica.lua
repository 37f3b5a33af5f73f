-- A process says that it is alive, and how it is; those that have been silent for `ttl` milliseconds are forgotten.
-- KEYS  1 hash of process id to "<ms> <facts as JSON>"
-- ARGV  with `facts` empty the process takes its leave; with `id` empty nothing is said, only asked.
-- Answers {now in ms, id, "<ms> <facts>", ...} of those that are alive.
-- @args id facts ttl

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
if A.id ~= '' then
  if A.facts == '' then
    redis.call('HDEL', KEYS[1], A.id)
  else
    redis.call('HSET', KEYS[1], A.id, string.format('%.0f', now) .. ' ' .. A.facts)
    redis.call('PEXPIRE', KEYS[1], A.ttl)
  end
end
local out = { now }
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  if tonumber(string.match(flat[i + 1], '^%d+')) < now - tonumber(A.ttl) then
    if A.id ~= '' then redis.call('HDEL', KEYS[1], flat[i]) end
  else
    out[#out + 1] = flat[i]
    out[#out + 1] = flat[i + 1]
  end
end
return out
