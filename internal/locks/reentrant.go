package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
)

// reentrant is the lock of a well-known Java client, on one master: a hash from who holds to
// how many times, a watchdog that extends it each third of its ttl for as long as the process
// lives, and a channel that wakes who waits. The holder is never told of an end.
type reentrant struct {
	client *redis.Client
	id     string // of the process and its thread; it stays the same
}

func newReentrant(c Config) *reentrant {
	return &reentrant{connect(c.Masters[0], c), uuid.NewString() + ":1"}
}

func (l *reentrant) Close() error { return l.client.Close() }

var (
	// enter returns how long another still has the lock, -1 for ever, and -2 if it is ours.
	enter = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
	return redis.call('pttl', KEYS[1])
end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return -2`)
	renew = redis.NewScript(`return redis.call('hexists', KEYS[1], ARGV[1]) == 1 and redis.call('pexpire', KEYS[1], ARGV[2]) or 0`)
	leave = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
	redis.call('del', KEYS[1])
	redis.call('publish', KEYS[1] .. ':free', 1)
end
return 1`)
)

func (l *reentrant) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	var free *redis.PubSub // once it was refused
	var last error         // of an attempt that ctx did not cut off
	for {
		left, err := enter.Run(ctx, l.client, []string{name}, l.id, ttl.Milliseconds()).Int64()
		if err == nil && left == -2 {
			return l.held(name, ttl), nil
		}
		wait := 10 * time.Millisecond
		if err == nil {
			err = ErrHeld
			if wait = time.Second; left >= 0 {
				wait = min(wait, time.Duration(left+1)*time.Millisecond)
			}
		}
		if last == nil || !cutOff(ctx) {
			last = err
		}
		if free == nil {
			free = l.client.Subscribe(ctx, name+":free")
			defer func() { _ = free.Close() }()
			wait = 0 // it may have become free meanwhile
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-free.Channel():
		case <-time.After(wait):
		}
	}
}

// inside is the holder's, with its watchdog.
type inside struct {
	lock *reentrant
	name string
	ttl  time.Duration
	stop context.CancelFunc
}

func (l *reentrant) held(name string, ttl time.Duration) *inside {
	ctx, stop := context.WithCancel(context.Background())
	h := &inside{l, name, ttl, stop}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(ttl / 3):
				if err := h.Extend(ctx); errors.Is(err, errNotHeld) || errors.Is(err, redis.ErrClosed) {
					return // and the holder is not told
				}
			}
		}
	}()
	return h
}

func (h *inside) Until() clock.Instant { return clock.Never }
func (h *inside) Token() string        { return h.lock.id }
func (h *inside) Fence() uint64        { return 0 }

func (h *inside) Extend(ctx context.Context) error {
	n, err := renew.Run(ctx, h.lock.client, []string{h.name}, h.lock.id, h.ttl.Milliseconds()).Int()
	if err == nil && n == 0 {
		return errNotHeld
	}
	return err
}

func (h *inside) Release(ctx context.Context) error {
	h.stop()
	return leave.Run(ctx, h.lock.client, []string{h.name}, h.lock.id).Err()
}
