-- Moves the keys' end to ARGV[2] milliseconds from now, if none of them is another's.
-- It never shortens: an extension that comes late must not cut a newer one, which
-- the holder already trusts.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] milliseconds, ARGV[3] '1' to put
-- back keys that are gone, where '0' has them refuse
-- Returns 0 if the keys are ours, else as release.lua does, of the first that is not.
for _, key in ipairs(KEYS) do
  local token = redis.call('GET', key)
  if token ~= ARGV[1] and (token or ARGV[3] ~= '1') then
    local left = redis.call('PTTL', key)
    return left == 0 and 1 or left
  end
end
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < tonumber(ARGV[2]) then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
  end
end
return 0
