-- Renews slots that are held (slot.lua): also those that lapsed while their process could not reach us, since their
-- streams are open all the same.
-- KEYS  1 the set of slots by the time they lapse
-- Answers how many were renewed.
-- @args ids ttl

local clock = redis.call('TIME')
local lapse = clock[1] * 1000 + math.floor(clock[2] / 1000) + tonumber(A.ttl)
local ids = cjson.decode(A.ids)
for _, id in ipairs(ids) do redis.call('ZADD', KEYS[1], lapse, id) end
redis.call('PEXPIRE', KEYS[1], A.ttl)
return #ids
