-- Moves the keys' end to ARGV[2] milliseconds from now if all hold the token.
-- It never shortens: an extension that comes late must not cut a newer one, which
-- the holder already trusts.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] milliseconds
-- Returns 0 if the keys were ours, else as release.lua does, of the first that was not.
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) ~= ARGV[1] then
    local left = redis.call('PTTL', key)
    return left == 0 and 1 or left
  end
end
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', key, ARGV[2])
  end
end
return 0
