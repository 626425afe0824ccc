package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// setnx is the first lock that anybody writes. Whoever dies with it has it for ever.
var setnx = recipe{
	masters: 1, credulous: true,
	set: func(ctx context.Context, c *redis.Client, key, _ string, _ time.Duration) (bool, error) {
		return c.SetNX(ctx, key, "locked", 0).Result()
	},
	unset: del,
}

// del deletes whatever is there, and whoever's it is.
func del(ctx context.Context, c *redis.Client, key, _ string) error {
	return c.Del(ctx, key).Err()
}
