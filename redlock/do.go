package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/quorumlock/redlock-go/clock"
)

// Do waits for name, calls f, and lets go. While f runs the lease is kept alive; f's
// ctx ends with ctx, and as soon as the lock is lost, with the reason as its cause, and
// f must stop then. Do returns f's error, joined with the reason if the lock was lost
// before f returned. That the release found no quorum is not an error of the work:
// what is left behind ends by itself.
func (c *Client) Do(ctx context.Context, name string, ttl time.Duration, f func(context.Context) error) error {
	lease, err := c.Lock(ctx, name, ttl)
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(ctx) }()

	working, lost := context.WithCancelCause(context.WithValue(ctx, leaseKey{}, lease))
	// An end of ctx asks f to stop. Until it has, the lock must be kept.
	keeping, done := context.WithCancel(context.WithoutCancel(ctx))
	var keeper errgroup.Group
	keeper.Go(func() error {
		err := lease.KeepAlive(keeping)
		lost(err)
		return err
	})
	defer func() {
		done()
		_ = keeper.Wait()
	}()

	err = f(working)
	if !lease.Valid() {
		return errors.Join(err, keeper.Wait()) // it returns by itself: the lease has ended
	}
	return err
}

// KeepAlive extends the lease each time a third of its ttl has passed, and tries again
// within its validity when that fails. It returns nil when ctx ends or the lease is
// released, and the reason when the lease is lost. Run it in a goroutine beside the work.
func (l *Lease) KeepAlive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.Context(), cancel)()

	next, last := l.renewal(), error(nil)
	for {
		_ = clock.Sleep(ctx, l.client.clock, next)
		if l.Context().Err() != nil || l.Remaining() == 0 {
			return l.lostBecause(last)
		}
		if ctx.Err() != nil {
			return nil
		}
		if last = l.Extend(ctx); last == nil {
			next = l.renewal()
			continue
		}
		if errors.Is(last, ErrClosed) {
			return last
		}
		next = l.client.clock.Now().Add(max(l.ttl/20, 5*time.Millisecond))
	}
}

// renewal returns when the lease should be extended: at a third of its ttl.
func (l *Lease) renewal() clock.Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline.Add(-l.ttl * 2 / 3)
}

// lostBecause returns the reason for which the lease ended, around the extension that
// failed last; nil if it was released.
func (l *Lease) lostBecause(last error) error {
	l.mu.Lock()
	why := l.cause()
	l.mu.Unlock()
	if errors.Is(why, context.Canceled) {
		return nil
	}
	var e *Error
	if !errors.As(last, &e) || errors.Is(last, why) {
		return &Error{Op: "keep alive", Name: l.name, Err: why, Votes: votesOf(e)}
	}
	return &Error{Op: "keep alive", Name: l.name, Err: fmt.Errorf("%w, as the last extension failed: %w", why, e.Err), Votes: e.Votes}
}

func votesOf(e *Error) []Vote {
	if e == nil {
		return nil
	}
	return e.Votes
}

type leaseKey struct{}

// FromContext returns the lease that ctx belongs to: that of Do's f, or the one whose
// Context it comes from.
func FromContext(ctx context.Context) (*Lease, bool) {
	l, ok := ctx.Value(leaseKey{}).(*Lease)
	return l, ok
}
