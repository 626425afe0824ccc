local last = tonumber(redis.call('GET', KEYS[2])) or 0
local fence = tonumber(ARGV[1]) or 0
if fence == 0 or fence < last then
  return redis.error_reply('STALEFENCE ' .. ARGV[1] .. ', when ' .. string.format('%.0f', last) .. ' came before')
end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
