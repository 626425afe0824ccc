-- Sets all keys to the token, or none: a lock of several names is one vote.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] milliseconds
-- Returns 0 if they are ours now, else as release.lua does.
local longest = -2
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left == -1 or (left > longest and longest ~= -1) then
    longest = left
  end
end
if longest ~= -2 then
  return longest == 0 and 1 or longest
end
for _, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
end
return 0
