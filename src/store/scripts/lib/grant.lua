-- Friend requests. P is their key prefix (KEYS[1]); now is Redis time in milliseconds.

local P = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function grant_key(id) return P .. 'grant:' .. id end

-- The record as a table of strings, or nil.
local function load(id)
  local flat = redis.call('HGETALL', grant_key(id))
  if #flat == 0 then return nil end
  local g = {}
  for i = 1, #flat, 2 do g[flat[i]] = flat[i + 1] end
  return g
end

-- A request that has ended makes room for another of its pair and of its person (SB-64).
local function make_room(id, g)
  local pair = P .. 'pair:' .. g.pair
  if redis.call('GET', pair) == id then redis.call('DEL', pair) end
  redis.call('SREM', P .. 'of:' .. g.human, id)
  redis.call('SREM', P .. 'pending', id)
end

-- Who did what, in the same unit as the change itself.
local function audit(id, event, actor)
  redis.call('XADD', P .. 'audit', 'MAXLEN', '~', 100000, '*', 'grant', id, 'event', event, 'actor', actor)
end
