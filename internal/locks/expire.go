package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// setnxThenExpire gives the lock an end, in a second command, which may never be sent.
var setnxThenExpire = recipe{
	masters: 1, credulous: true,
	set: func(ctx context.Context, c *redis.Client, key, _ string, ttl time.Duration) (bool, error) {
		ok, err := c.SetNX(ctx, key, "locked", 0).Result()
		if ok && err == nil {
			err = c.PExpire(ctx, key, ttl).Err()
		}
		return ok && err == nil, err
	},
	unset: del,
	extend: func(ctx context.Context, c *redis.Client, key, _ string, ttl time.Duration) (bool, error) {
		return c.PExpire(ctx, key, ttl).Result()
	},
}
