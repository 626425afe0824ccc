local last = tonumber(redis.call('GET', KEYS[2])) or 0
local fence = tonumber(ARGV[1]) or 0
if not (fence > 0 and fence >= last and fence < 2^53) then -- nor if it is no number
  return redis.error_reply('STALEFENCE ' .. ARGV[1] .. ', when ' .. string.format('%.0f', last) .. ' came before')
end
redis.call('SET', KEYS[2], ARGV[1])
return redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
