// Package locks has the locks that people build on Redis, each as its users write it, to be
// broken beside ours under the same faults. All but ours are known to be wrong in some way:
// they prove that a fault was one, and that a checker sees what it looks for.
package locks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/redlock"
)

// Lock takes names. It is safe for concurrent use.
type Lock interface {
	// Acquire waits for name until ctx ends.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error)
	Close() error
}

// Held is what a holder has.
type Held interface {
	// Until returns until when the holder believes that it has the lock, by
	// [clock.System]: [clock.Never] if it knows no deadline.
	Until() clock.Instant
	Token() string
	Fence() uint64 // 0 if there is none
	Extend(ctx context.Context) error
	Release(ctx context.Context) error
}

// Config says which masters a lock is on.
type Config struct {
	Masters []string
	MaxTTL  time.Duration
	Clock   clock.Clock // nil for clock.System; the recipes know no other
}

// The names of the locks.
const (
	None       = "no lock"
	SETNX      = "SETNX + DEL"
	SETNXThen  = "SETNX + EXPIRE"
	PlainDEL   = "SET NX PX + DEL"
	Single     = "SET NX PX + token script"
	Textbook   = "textbook Redlock"
	Half       = "textbook Redlock with half the masters"
	NoDrift    = "textbook Redlock without drift"
	OneToken   = "textbook Redlock with one token for all attempts"
	Unguarded  = "ours unguarded"
	Ours       = "ours"
	OursFenced = "ours with fences"
)

// Kinds are all of them, the naive ones first.
func Kinds() []string {
	return []string{None, SETNX, SETNXThen, PlainDEL, Single, Textbook, Half, NoDrift, OneToken, Unguarded, Ours, OursFenced}
}

// Open returns a lock of some kind.
func Open(kind string, c Config) (Lock, error) {
	if r, ok := recipes[kind]; ok {
		return r.open(c), nil
	}
	if !slices.Contains(Kinds(), kind) {
		return nil, fmt.Errorf("no lock is called %q", kind)
	}
	client, err := redlock.New(redlock.Options{
		Masters: c.Masters, MaxTTL: c.MaxTTL, Clock: c.Clock,
		Unguarded: kind == Unguarded, Fencing: kind == OursFenced,
	})
	return ours{client}, err
}

type ours struct{ *redlock.Client }

func (o ours) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	lease, err := o.Lock(ctx, name, ttl)
	return leased{lease}, err
}

type leased struct{ *redlock.Lease }

func (l leased) Until() clock.Instant {
	now := clock.System.Now() // before the lease's clock: what is left is counted from here
	return now.Add(l.Remaining())
}
