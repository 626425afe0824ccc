package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

type viaRedsync struct {
	rs       *redsync.Redsync
	failFast bool
	clients  []*redis.Client
}

func openRedsync(failFast bool) func(addrs []string) (locker, error) {
	return func(addrs []string) (locker, error) {
		r := &viaRedsync{failFast: failFast, clients: connect(addrs)}
		var pools []redsyncredis.Pool
		for _, c := range r.clients {
			pools = append(pools, goredis.NewPool(c))
		}
		r.rs = redsync.New(pools...)
		return r, nil
	}
}

// connect returns a client a master, as one would configure it who does not think of it.
func connect(addrs []string) []*redis.Client {
	var all []*redis.Client
	for _, a := range addrs {
		all = append(all, redis.NewClient(&redis.Options{Addr: a}))
	}
	return all
}

func (r *viaRedsync) Cycle(ctx context.Context, worker int) error {
	m := r.mutex(fmt.Sprint("redsync-", worker))
	if err := m.TryLockContext(ctx); err != nil {
		return err
	}
	return unlock(ctx, m)
}

// Hold tries for as long as ctx lasts: redsync's own Lock gives up after 32 attempts.
func (r *viaRedsync) Hold(ctx context.Context, name string, f func()) error {
	m := r.mutex(name)
	for {
		err := m.LockContext(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	f()
	return unlock(ctx, m)
}

func (r *viaRedsync) mutex(name string) *redsync.Mutex {
	return r.rs.NewMutex(name, redsync.WithFailFast(r.failFast), redsync.WithExpiry(ttl))
}

func unlock(ctx context.Context, m *redsync.Mutex) error {
	if ok, err := m.UnlockContext(ctx); !ok {
		return errors.Join(errors.New("not unlocked"), err)
	}
	return nil
}

func (r *viaRedsync) Close() {
	for _, c := range r.clients {
		_ = c.Close()
	}
}
