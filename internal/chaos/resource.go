package chaos

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/fence"
)

// resource is what the lock protects: a list a name, to which each holder appends how long
// it found it. If that is not the entry's place, another's work was lost.
type resource struct {
	redis   *redis.Client
	checks  bool // fences
	command *redis.Script
}

func openResource(addr string, checks bool) *resource {
	return &resource{redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}), checks, redis.NewScript(fence.Redis)}
}

// length reads, and append writes what was read.
func (r *resource) length(ctx context.Context, name string, no uint64) (int, error) {
	if !r.checks {
		n, err := r.redis.LLen(ctx, name).Result()
		return int(n), err
	}
	return r.run(ctx, name, no, "llen").Int()
}

func (r *resource) append(ctx context.Context, name string, no uint64, length int) error {
	entry := fmt.Sprintf("%d %d", length, no)
	if !r.checks {
		return r.redis.RPush(ctx, name, entry).Err()
	}
	return r.run(ctx, name, no, "rpush", entry).Err()
}

func (r *resource) run(ctx context.Context, name string, no uint64, command ...any) *redis.Cmd {
	return r.command.Run(ctx, r.redis, []string{name, name + ":fence"}, append([]any{no}, command...)...)
}
