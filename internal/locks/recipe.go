package locks

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
)

// recipe is a lock as a blog post has it: how one master is asked, how it is let go, and
// what makes a holder believe.
type recipe struct {
	masters   int // how many of the masters it uses, from the first; 0 for all
	less      int // how much fewer than a majority must agree
	set       func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error)
	unset     func(ctx context.Context, c *redis.Client, key, token string) error
	credulous bool // the holder believes until it lets go
	noDrift   bool
	oneToken  bool // for all attempts of a call
}

var recipes = map[string]recipe{
	None:      {masters: 1, set: always, unset: nothing, credulous: true},
	SETNX:     {masters: 1, set: setNX, unset: del, credulous: true},
	SETNXThen: {masters: 1, set: setNXThenExpire, unset: del, credulous: true},
	PlainDEL:  {masters: 1, set: setNXPX, unset: del, credulous: true},
	Single:    {masters: 1, set: setNXPX, unset: delIfOwn},
	Textbook:  {set: setNXPX, unset: delIfOwn},
	Half:      {set: setNXPX, unset: delIfOwn, less: 1},
	NoDrift:   {set: setNXPX, unset: delIfOwn, noDrift: true},
	OneToken:  {set: setNXPX, unset: delIfOwn, oneToken: true},
}

func always(context.Context, *redis.Client, string, string, time.Duration) (bool, error) {
	return true, nil
}

func nothing(context.Context, *redis.Client, string, string) error { return nil }

func setNX(ctx context.Context, c *redis.Client, key, token string, _ time.Duration) (bool, error) {
	return c.SetNX(ctx, key, token, 0).Result()
}

func setNXThenExpire(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	ok, err := c.SetNX(ctx, key, token, 0).Result()
	if ok && err == nil {
		err = c.PExpire(ctx, key, ttl).Err()
	}
	return ok && err == nil, err
}

func setNXPX(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error) {
	return c.SetNX(ctx, key, token, ttl).Result()
}

func del(ctx context.Context, c *redis.Client, key, _ string) error { return c.Del(ctx, key).Err() }

var (
	ownDel    = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0`)
	ownExpire = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('pexpire', KEYS[1], ARGV[2]) or 0`)
)

func delIfOwn(ctx context.Context, c *redis.Client, key, token string) error {
	return ownDel.Run(ctx, c, []string{key}, token).Err()
}

// open returns the lock on real masters.
func (r recipe) open(c Config) *cooked {
	l := &cooked{recipe: r}
	for _, addr := range c.Masters[:cmp.Or(r.masters, len(c.Masters))] {
		l.clients = append(l.clients, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
			DialTimeout: time.Second, ReadTimeout: 500 * time.Millisecond,
		}))
	}
	return l
}

// cooked is a recipe's lock.
type cooked struct {
	recipe
	clients []*redis.Client
}

func (l *cooked) Close() error {
	var all error
	for _, c := range l.clients {
		all = errors.Join(all, c.Close())
	}
	return all
}

// Acquire tries again and again, with pauses of up to 10 ms.
func (l *cooked) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	for token := uuid.NewString(); ; {
		if h := l.try(ctx, name, token, ttl); h != nil {
			return h, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(rand.N(10 * time.Millisecond)):
		}
		if !l.oneToken {
			token = uuid.NewString()
		}
	}
}

func (l *cooked) try(ctx context.Context, name, token string, ttl time.Duration) *own {
	h := &own{lock: l, name: name, token: token, ttl: ttl, until: clock.Never}
	until := l.deadline(clock.System.Now(), ttl)
	if l.ask(func(c *redis.Client) bool {
		ok, err := l.set(ctx, c, name, token, ttl)
		return ok && err == nil
	}) && clock.System.Now().Before(until) {
		h.until = until
		return h
	}
	if !l.credulous { // the naive ones would delete another's
		_ = h.Release(context.WithoutCancel(ctx))
	}
	return nil
}

func (l *cooked) deadline(start clock.Instant, ttl time.Duration) clock.Instant {
	switch {
	case l.credulous:
		return clock.Never
	case l.noDrift:
		return start.Add(ttl)
	}
	return clock.DefaultDrift.Deadline(start, ttl)
}

// ask puts a question to all masters at once, and reports whether enough say yes.
func (l *cooked) ask(question func(*redis.Client) bool) bool {
	var yes atomic.Int64
	var all sync.WaitGroup
	for _, c := range l.clients {
		all.Go(func() {
			if question(c) {
				yes.Add(1)
			}
		})
	}
	all.Wait()
	return int(yes.Load()) >= len(l.clients)/2+1-l.less
}

// own is a holder's.
type own struct {
	lock  *cooked
	name  string
	token string
	ttl   time.Duration
	until clock.Instant
}

func (h *own) Until() clock.Instant { return h.until }
func (h *own) Token() string        { return h.token }
func (h *own) Fence() uint64        { return 0 }

func (h *own) Extend(ctx context.Context) error {
	until := h.lock.deadline(clock.System.Now(), h.ttl)
	if !h.lock.ask(func(c *redis.Client) bool {
		n, err := ownExpire.Run(ctx, c, []string{h.name}, h.token, h.ttl.Milliseconds()).Int()
		return n == 1 && err == nil
	}) || !clock.System.Now().Before(h.until) {
		return errors.New("not extended")
	}
	h.until = until
	return nil
}

func (h *own) Release(ctx context.Context) error {
	if !h.lock.ask(func(c *redis.Client) bool { return h.lock.unset(ctx, c, h.name, h.token) == nil }) {
		return errors.New("not released everywhere")
	}
	return nil
}
