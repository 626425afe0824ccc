package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// single is the lock of the Redis documentation for one master: a random token says whose
// the key is, a script deletes only one's own, and the holder counts the time.
var single = recipe{masters: 1, set: setNXPX, unset: delIfOwn, extend: extendIfOwn}

var (
	ownDel    = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0`)
	ownExpire = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('pexpire', KEYS[1], ARGV[2]) or 0`)
)

func delIfOwn(ctx context.Context, c *redis.Client, key, token string) error {
	return ownDel.Run(ctx, c, []string{key}, token).Err()
}

func extendIfOwn(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	n, err := ownExpire.Run(ctx, c, []string{key}, token, ttl.Milliseconds()).Int()
	return n == 1, err
}
