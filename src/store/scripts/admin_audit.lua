-- Writes what an operator did. With `begun`, the id of the entry that was written before the action, that one is
-- replaced: what came of it is known now.
-- KEYS  1 stream
-- Answers the id of the entry.
-- @args begun entry most age

local clock = redis.call('TIME')
local oldest = clock[1] * 1000 + math.floor(clock[2] / 1000) - tonumber(A.age)
if A.begun ~= '' then redis.call('XDEL', KEYS[1], A.begun) end
local id = redis.call('XADD', KEYS[1], 'MAXLEN', '~', A.most, '*', 'e', A.entry)
redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', oldest))
return id
