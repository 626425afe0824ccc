// Package locks has the locks that people build on Redis, each as its users write it, to be
// broken beside ours under the same faults. All but ours are known to be wrong in some way:
// they prove that a fault was one, and that a checker sees what it looks for.
package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Lock takes names, one at a time for one worker.
type Lock interface {
	// Acquire waits for name until ctx ends. Its error says whether the lock was held by
	// another all the time: then it is [ErrHeld].
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
	Clock   clock.Clock   // nil for clock.System
	Timeout time.Duration // of an exchange with a master, but for ours; 500 ms if zero
}

// The names of the locks.
const (
	None       = "no lock"
	SETNX      = "SETNX + DEL"
	SETNXThen  = "SETNX + EXPIRE"
	PlainDEL   = "SET NX PX + DEL"
	Single     = "SET NX PX + token script"
	Retry      = "SET NX PX + token script, retried"
	Reentrant  = "re-entrant hash + watchdog"
	Textbook   = "textbook Redlock"
	Half       = "textbook Redlock with half the masters"
	NoDrift    = "textbook Redlock without drift"
	OneToken   = "textbook Redlock with one token for all attempts"
	Unguarded  = "ours unguarded"
	Ours       = "ours"
	OursFenced = "ours with fences"
)

// Why there is no lock, where that is known.
var (
	ErrHeld   = errors.New("held by another")
	ErrUnsafe = errors.New("the lock refuses these masters")
	// ErrUnreachable is for locks whose own errors don't tell.
	ErrUnreachable = errors.New("too few masters answer")

	errNotHeld = errors.New("not held")
	errNever   = errors.New("this lock can't be extended")
)

// Kinds are all of them, the naive ones first.
func Kinds() []string {
	return []string{
		None, SETNX, SETNXThen, PlainDEL, Single, Retry, Reentrant,
		Textbook, Half, NoDrift, OneToken, Unguarded, Ours, OursFenced,
	}
}

var others = map[string]func(Config) (Lock, error){}

// Register adds a kind: a lock of another library. It is to be called before Open, once.
func Register(kind string, open func(Config) (Lock, error)) { others[kind] = open }

// Open returns a lock of some kind.
func Open(kind string, c Config) (Lock, error) {
	if c.Clock == nil {
		c.Clock = clock.System
	}
	switch r, ok := recipes[kind]; {
	case ok:
		return r.open(c), nil
	case kind == Reentrant:
		return newReentrant(c), nil
	case slices.Contains(Kinds(), kind):
		return newOurs(kind, c)
	case others[kind] != nil:
		return others[kind](c)
	}
	return nil, fmt.Errorf("no lock is called %q", kind)
}
