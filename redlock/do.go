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

	working, lost := context.WithCancelCause(lease.carriedBy(ctx))
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
	if lease.Valid() {
		return err
	}
	done()
	return errors.Join(err, keeper.Wait()) // nil if an extension was in time, and told late
}

// KeepAlive extends the lease each time a third of its ttl has passed, and tries again
// within its validity when that fails. It returns nil when ctx ends or the lease is
// released, and the reason when the lease is lost. Run it in a goroutine beside the work.
func (l *Lease) KeepAlive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.Context(), cancel)()

	h := l.hold
	next, last := h.renewal(), error(nil)
	for {
		_ = clock.Sleep(ctx, h.client.clock, next)
		if l.Context().Err() != nil || l.Remaining() == 0 {
			return h.lostBecause(last)
		}
		if ctx.Err() != nil {
			return nil
		}
		if due := h.renewal(); last == nil && next.Before(due) {
			next = due // another lease of the same hold has extended it
			continue
		}
		if last = l.Extend(ctx); last == nil {
			next = h.renewal()
			continue
		}
		if errors.Is(last, ErrClosed) {
			return last
		}
		next = h.client.clock.Now().Add(max(h.ttl/20, 5*time.Millisecond))
	}
}

// renewal returns when the hold should be extended.
func (h *hold) renewal() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until.Renewal()
}

// lostBecause returns the reason for which the hold ended, around the extension that
// failed last; nil if it was released.
func (h *hold) lostBecause(last error) error {
	why := h.why()
	e, ok := errors.AsType[*Error](last)
	switch {
	case errors.Is(why, context.Canceled), h.remaining() > 0: // or one of its leases was
		return nil
	case !ok:
		return h.fail("keep alive", why)
	case !errors.Is(last, why):
		why = fmt.Errorf("%w, as the last extension failed: %w", why, e.Err)
	}
	return &Error{Op: "keep alive", Name: e.Name, Err: why, Votes: e.Votes}
}
