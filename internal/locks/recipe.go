package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	set       question
	unset     func(ctx context.Context, c *redis.Client, key, token string) error
	extend    question // nil if the lock has no end
	credulous bool     // the holder believes until it lets go
	noDrift   bool
	token     reuse
	prefix    string
	pause     time.Duration // between attempts; 0 for a random one
}

// question is put to one master, which says yes or no.
type question func(ctx context.Context, c *redis.Client, key, token string, ttl time.Duration) (bool, error)

// reuse says how long a token is used.
type reuse int

const (
	oneForTheAttempt reuse = iota
	oneForTheCall
	oneForTheLock
)

var recipes = map[string]recipe{
	None:      none,
	SETNX:     setnx,
	SETNXThen: setnxThenExpire,
	PlainDEL:  plainDEL,
	Single:    single,
	Retry:     retried,
	Textbook:  textbook,
	Half:      half,
	NoDrift:   noDrift,
	OneToken:  oneToken,
}

// open returns the lock on real masters.
func (r recipe) open(c Config) *cooked {
	l := &cooked{recipe: r, clock: c.Clock, own: uuid.NewString()}
	for _, addr := range c.Masters[:cmp.Or(r.masters, len(c.Masters))] {
		l.clients = append(l.clients, connect(addr, c))
	}
	return l
}

func connect(addr string, c Config) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: time.Second, ReadTimeout: cmp.Or(c.Timeout, 500*time.Millisecond),
	})
}

// cooked is a recipe's lock.
type cooked struct {
	recipe
	clock   clock.Clock
	own     string // token, where one is used for ever
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
	var last error // of an attempt that ctx did not cut off
	for token := uuid.NewString(); ; {
		h, err := l.try(ctx, l.prefix+name, l.tokenOf(token), ttl)
		if err == nil {
			return h, nil
		}
		if last == nil || !cutOff(ctx) {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), last)
		case <-time.After(cmp.Or(l.pause, rand.N(10*time.Millisecond))):
		}
		if l.token == oneForTheAttempt {
			token = uuid.NewString()
		}
	}
}

// cutOff reports whether ctx ended an attempt that ends now: what that says is not why the
// lock could not be had.
func cutOff(ctx context.Context) bool {
	end, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && time.Until(end) < 10*time.Millisecond
}

func (l *cooked) tokenOf(call string) string {
	if l.token == oneForTheLock {
		return l.own
	}
	return call
}

func (l *cooked) try(ctx context.Context, key, token string, ttl time.Duration) (*own, error) {
	h := &own{lock: l, key: key, token: token, ttl: ttl, until: clock.Never}
	until := l.deadline(l.clock.Now(), ttl)
	err := l.ask(ctx, l.set, h)
	if err == nil && l.clock.Now().Before(until) {
		h.until = until
		return h, nil
	}
	if !l.credulous { // the naive ones would delete another's
		_ = h.Release(context.WithoutCancel(ctx))
	}
	return nil, cmp.Or(err, error(context.DeadlineExceeded))
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

// ask puts a question to all masters at once. It returns nil if enough say yes; if not, what
// a master that could not be asked said, or [ErrHeld].
func (l *cooked) ask(ctx context.Context, q question, h *own) error {
	var yes, no atomic.Int64
	var silent atomic.Pointer[error]
	var all sync.WaitGroup
	for _, c := range l.clients {
		all.Go(func() {
			switch ok, err := q(ctx, c, h.key, h.token, h.ttl); {
			case err != nil:
				silent.Store(&err)
			case ok:
				yes.Add(1)
			default:
				no.Add(1)
			}
		})
	}
	all.Wait()
	enough := len(l.clients)/2 + 1 - l.less
	switch {
	case int(yes.Load()) >= enough:
		return nil
	case int(no.Load()) > len(l.clients)-enough || silent.Load() == nil:
		return ErrHeld
	}
	return *silent.Load()
}

// own is a holder's.
type own struct {
	lock  *cooked
	key   string
	token string
	ttl   time.Duration
	until clock.Instant // by the lock's clock
}

func (h *own) Until() clock.Instant {
	if h.until == clock.Never {
		return clock.Never
	}
	now := clock.System.Now()
	return now.Add(h.until.Sub(h.lock.clock.Now()))
}

func (h *own) Token() string { return h.token }
func (h *own) Fence() uint64 { return 0 }

func (h *own) Extend(ctx context.Context) error {
	if h.lock.extend == nil {
		return errNever
	}
	until := h.lock.deadline(h.lock.clock.Now(), h.ttl)
	if err := h.lock.ask(ctx, h.lock.extend, h); err != nil {
		return fmt.Errorf("not extended: %w", err)
	}
	if !h.lock.clock.Now().Before(h.until) {
		return errNotHeld
	}
	h.until = until
	return nil
}

func (h *own) Release(ctx context.Context) error {
	unset := func(ctx context.Context, c *redis.Client, key, token string, _ time.Duration) (bool, error) {
		return true, h.lock.unset(ctx, c, key, token)
	}
	return h.lock.ask(ctx, unset, h)
}
