-- Moves the key's end to ARGV[2] milliseconds from now if it still holds the token.
-- It never shortens: an extension that comes late must not cut a newer one, which
-- the holder already trusts.
-- KEYS[1] the lock's key, ARGV[1] the token, ARGV[2] milliseconds
-- Returns 0 if the key was ours, else as release.lua does.
local left = redis.call('PTTL', KEYS[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
  if left < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 0
end
if left == 0 then
  return 1
end
return left
