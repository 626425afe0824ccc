-- Changes the record of tenure, if that is still what the client saw, and in the process
-- that it saw it in.
-- KEYS[1] the record, ARGV[1] run_id+replid, ARGV[2] all of the record as the client saw
-- it, then names and values of what is to be set. There, the least of all 64-bit integers
-- stands for TIME, in microseconds.
-- Returns 0 if it was changed, else -1.
local info = redis.call('INFO', 'server') .. redis.call('INFO', 'replication')
local run, history = info:match('\nrun_id:(%w+)'), info:match('\nmaster_replid:(%w+)')
if not run or not history or run .. '+' .. history ~= ARGV[1] or not info:find('\nrole:master', 1, true) then
  return -1
end
if (redis.call('HGET', KEYS[1], 'record') or '') ~= ARGV[2] then
  return -1
end
local now = redis.call('TIME')
local micros = string.format('%d%06d', now[1], now[2])
for i = 3, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], (ARGV[i + 1]:gsub('%-9223372036854775808', micros)))
end
return 0
