-- Deletes the key if it still holds the token: a release that comes late must not
-- free somebody else's lock.
-- KEYS[1] the lock's key, ARGV[1] the token
-- Returns 0 if the key was ours and is gone now, -2 if there is no such key,
-- -1 if it is another's and never ends, else the milliseconds that the other's
-- key has left.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 0
end
local left = redis.call('PTTL', KEYS[1])
if left == 0 then
  return 1
end
return left
