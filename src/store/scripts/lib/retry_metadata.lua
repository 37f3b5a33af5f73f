-- Task.metadata.baton: what a client may want to know of attempts (todo-delegation Q1). Written as Struct bytes.

local function entry(name, value) return field(10, field(10, name) .. field(18, value)) end

local function text_entry(name, text) return entry(name, field(26, text)) end

-- The same as entry() of a number, whose length is known.
local function number_entry(name, n)
  return char(10, #name + 13, 10, #name) .. name .. char(18, 9, 17) .. struct.pack('<d', n)
end

-- RFC 3339 text of milliseconds, UTC.
local function iso(ms)
  local days = math.floor(ms / 86400000)
  local rest = ms - days * 86400000
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day, math.floor(rest / 3600000),
    math.floor(rest / 60000) % 60, math.floor(rest / 1000) % 60, rest % 1000)
end

local function retry_metadata(t)
  local attempt = tonumber(t.attempt) or 0
  if attempt == 0 then return nil end
  local struct_bytes = number_entry('attempt', attempt) .. number_entry('maxAttempts', tonumber(t.max))
  if t.nb and t.state == 'pending' then struct_bytes = struct_bytes .. text_entry('notBefore', iso(tonumber(t.nb))) end
  if t.lastfail then struct_bytes = struct_bytes .. text_entry('lastFailure', t.lastfail) end
  return entry('baton', field(42, struct_bytes))
end
