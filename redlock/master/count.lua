-- Counts up to a fence, if the lock that it was chosen for is still held here: whoever else
-- had a key meanwhile may have been given a greater number.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] the fence, then for each key the field
-- that counts for it
-- Returns 0 if it is counted, else as release.lua does, of the first key that is not ours.
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) ~= ARGV[1] then
    local left = redis.call('PTTL', key)
    return left == 0 and 1 or left
  end
end
for i = 3, #ARGV do
  if (tonumber(redis.call('HGET', 'redlock:tenure', ARGV[i])) or 0) < tonumber(ARGV[2]) then
    redis.call('HSET', 'redlock:tenure', ARGV[i], ARGV[2])
  end
end
return 0
