-- Protobuf wire format, as far as the task log needs it: the scripts stamp times and states into events that must be
-- atomic with the change they report, so they write these few messages themselves. Field numbers: lf.a2a.v1.

local char = string.char

local function varint(n)
  local out = ''
  while n >= 128 do
    local low = n % 128
    out = out .. char(low + 128)
    n = (n - low) / 128
  end
  return out .. char(n)
end

-- A length-delimited field; `tag` is field number * 8 + 2. Nil is an absent field.
local function field(tag, bytes)
  if not bytes then return '' end
  if #bytes < 128 then return char(tag, #bytes) .. bytes end
  return char(tag) .. varint(#bytes) .. bytes
end

-- google.protobuf.Timestamp from milliseconds.
local function timestamp(ms)
  local nanos = (ms % 1000) * 1000000
  local seconds = char(8) .. varint(math.floor(ms / 1000))
  return nanos > 0 and seconds .. char(16) .. varint(nanos) or seconds
end

-- lf.a2a.v1.TaskStatus
local function task_status(state, message, ms)
  return char(8, state) .. field(18, message) .. field(26, timestamp(ms))
end

-- Reads one length-delimited frame at `at`; answers the bytes and the position behind them.
local function frame(bytes, at)
  local shift, len = 1, 0
  at = at + 1
  while true do
    local b = string.byte(bytes, at)
    at = at + 1
    if b < 128 then
      len = len + b * shift
      break
    end
    len = len + (b - 128) * shift
    shift = shift * 128
  end
  return string.sub(bytes, at, at + len - 1), at + len
end
