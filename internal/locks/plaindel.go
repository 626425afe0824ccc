package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// plainDEL sets value and end at once. It lets go of whatever is there, another's too, and
// extends by setting the key again.
var plainDEL = recipe{
	masters: 1, credulous: true,
	set:   setNXPX,
	unset: del,
	extend: func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
		return true, c.Set(ctx, key, token, ttl).Err()
	},
}

func setNXPX(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	return c.SetNX(ctx, key, token, ttl).Result()
}
