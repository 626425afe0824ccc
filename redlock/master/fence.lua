-- Sets all keys to the token, or none, and gives the next fence: above the counters of all
-- the keys, above where counting began when this master got its tenure, and not below the
-- hint. Counters are fields of the record: they are lost with it, and only with it.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] milliseconds, ARGV[3] the hint, then for
-- each key the field that counts for it
-- Returns the fence, or 0 if a key is another's.
if #KEYS > 1 and redis.call('EXISTS', unpack(KEYS)) > 0 then
  return 0
end
local fence = tonumber(ARGV[3])
for _, last in ipairs(redis.call('HMGET', 'redlock:tenure', 'floor', unpack(ARGV, 4))) do
  fence = math.max(fence, (tonumber(last) or 0) + 1)
end
if fence > 9007199254740991 then -- 2^53 - 1: above, doubles skip numbers
  return redis.error_reply('FENCE no number is left')
end
for _, key in ipairs(KEYS) do
  if not redis.call('SET', key, ARGV[1], 'NX', 'PX', ARGV[2]) then
    return 0
  end
end
local digits = string.format('%.0f', fence)
for i = 4, #ARGV do
  redis.call('HSET', 'redlock:tenure', ARGV[i], digits)
end
return fence
