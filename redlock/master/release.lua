-- Deletes each key that still holds the token, and tells those who wait for it: a
-- release that comes late must not free somebody else's lock.
-- KEYS the locks' keys, ARGV[1] the token, ARGV[2] the grace that keys have, in milliseconds.
-- What lives for longer than the group's MaxTTL and that is cut: the master's clock was set
-- back. What this client takes for MaxTTL says nothing about the keys of others.
-- Returns -3 - w if all keys were ours and are gone now, where w is how many were
-- told. Else -2 if those that were not ours do not exist, -1 if one is another's
-- and never ends, or the milliseconds for which the others' keys live.
local longest, ours, told = -2, 0, 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    redis.call('DEL', key)
    ours = ours + 1
    -- Who may not publish has released all the same.
    local n = redis.pcall('PUBLISH', 'redlock:free:' .. key, '')
    if type(n) == 'number' and n > told then
      told = n
    end
  else
    local left = redis.call('PTTL', key)
    local most = tonumber(redis.call('HGET', 'redlock:tenure', 'maxttl')) -- microseconds
    if most then
      most = math.ceil(most / 1000) + ARGV[2]
      if left > most then
        redis.call('SET', key, redis.call('GET', key), 'PX', most)
        left = most
      end
    end
    if left == -1 or (left > longest and longest ~= -1) then
      longest = left
    end
  end
end
if ours == #KEYS then
  return -3 - told
end
return longest == 0 and 1 or longest
