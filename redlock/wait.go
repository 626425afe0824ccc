package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

// waiter is one call that waits for names.
type waiter struct {
	client    *Client
	names     []string
	contender *quorum.Contender
	refused   bool          // it has tried
	ears      []*ear        // of the names, once it was refused
	nudge     chan struct{} // there is news
	heard     []uint64      // by master: how much news there was before the last attempt
}

// wait takes names, in its turn.
//
//  1. Stand in the line of each name, in one order for everybody, until it is the first.
//  2. While a lease of this process is in the way, wait for its end: its release is
//     ahead of the next attempt on every master, so that one round trip hands over.
//  3. Try. If others have it, listen, and sleep until a majority of the masters have
//     freed it, or their keys have ended.
//  4. Hold back for a random time, less the older this wait is, and go on at 2.
func (c *Client) wait(ctx context.Context, names []string, ttl time.Duration) (*Lease, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.closed, func() { cancel(ErrClosed) })()

	w := &waiter{
		client:    c,
		names:     names,
		contender: quorum.NewContender(c.clock.Now()),
		nudge:     make(chan struct{}, 1),
	}
	for _, name := range names {
		ticket := c.lines.join(name)
		defer c.lines.leave(name, ticket)
		select {
		case <-ticket.turn:
		case <-ctx.Done():
			return nil, w.gaveUp(ctx, nil, nil)
		}
	}
	w.ears = c.lines.ears(names, w.nudge)
	w.heard = w.count()
	var last *Error // what stood in the way
	for {
		if err := w.untilDue(ctx); err != nil {
			return nil, w.gaveUp(ctx, last, nil)
		}
		w.note()
		lease, err := c.attempt(ctx, names, ttl)
		if err == nil {
			return lease, nil
		}
		if !mayPass(err) {
			return nil, w.gaveUp(ctx, last, err)
		}
		last = err
		w.failed(err.Votes)
	}
}

// untilDue returns when the next attempt is due, or with an error when ctx has ended.
func (w *waiter) untilDue(ctx context.Context) error {
	handed, err := w.untilNotOurs(ctx)
	if err != nil || handed == direct {
		return err
	}
	if handed == contended {
		// Others learn of the release later than this process, by half a round trip.
		return w.sleep(ctx, w.client.trip()/2+w.jitter())
	}
	if !w.refused {
		return nil // nobody is known to be in the way
	}
	if err := w.untilFree(ctx); err != nil {
		return err
	}
	return w.sleep(ctx, w.jitter())
}

// handOver is what came of waiting for this process's own holders.
type handOver uint8

const (
	nobody    handOver = iota // there was none
	direct                    // they let go, and nobody else is known to wait
	contended                 // they let go, and others wait too
)

// untilNotOurs waits for the end of the leases of this process that are in the way.
func (w *waiter) untilNotOurs(ctx context.Context) (handOver, error) {
	result := nobody
	for _, name := range w.names {
		for {
			h, others := w.client.lines.holder(name)
			if h == nil {
				break
			}
			if err := h.untilFreed(ctx); err != nil {
				return 0, err
			}
			if others {
				result = contended
			} else {
				result = max(result, direct)
			}
		}
	}
	return result, nil
}

// untilFreed returns when the release of h is on its way, or h has ended without one.
func (h *hold) untilFreed(ctx context.Context) error {
	over := h.done()
	select {
	case <-h.freed:
		return nil
	case <-over.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if errors.Is(h.why(), context.Canceled) {
		<-h.freed // it is being released right now
		return nil
	}
	h.client.lines.remove(h)
	return nil
}

// untilFree sleeps until the keys on a majority of the masters are gone, by news or by
// time.
func (w *waiter) untilFree(ctx context.Context) error {
	for {
		now := w.client.clock.Now()
		for master, count := range w.count() {
			if count != w.heard[master] {
				w.contender.Freed(master, now)
			}
		}
		due := w.contender.Due()
		if !now.Before(due) {
			return nil
		}
		if err := w.listenUntil(ctx, due); err != nil {
			return err
		}
	}
}

// listenUntil returns when there is news, or it is due.
func (w *waiter) listenUntil(ctx context.Context, due clock.Instant) error {
	nap, done := context.WithCancel(ctx)
	defer done()
	defer clock.NewAlarm(w.client.clock, due, done).Stop()
	select {
	case <-w.nudge:
	case <-nap.Done():
	}
	return context.Cause(ctx)
}

// note remembers how much news there was: what comes during the attempt counts.
func (w *waiter) note() { w.heard = w.count() }

// count returns how much news there was of each master.
func (w *waiter) count() []uint64 {
	sum := make([]uint64, len(w.client.masters))
	for _, e := range w.ears {
		e.addTo(sum)
	}
	return sum
}

// failed takes the votes of an attempt that failed, and listens from now on.
func (w *waiter) failed(votes []Vote) {
	now := w.client.clock.Now()
	standings := make([]quorum.Standing, len(votes))
	for i, v := range votes {
		standings[i] = quorum.Standing{Answer: v.Answer, Left: v.Left}
	}
	w.contender.Failed(standings, now)
	w.refused = true
	if len(w.ears) < len(w.names) {
		w.ears = w.client.lines.listen(w.names, w.nudge)
		w.heard = w.count() // that listening has begun is news, and comes later
	}
}

func (w *waiter) jitter() time.Duration {
	return w.contender.Jitter(rand.Float64(), w.client.trip(), w.client.clock.Now())
}

func (w *waiter) sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// gaveUp returns the error of a wait that ended without the lock: err is that of the
// last attempt, if it was one that waiting can't mend, and last what stood in the way.
func (w *waiter) gaveUp(ctx context.Context, last, err *Error) error {
	why := w.client.alive(ctx)
	switch {
	case why == nil: // it was not the end of ctx, nor of the client
		return err
	case last != nil:
		return &Error{Op: "lock", Name: last.Name, Err: fmt.Errorf("%w while waiting: %w", why, last.Err), Votes: last.Votes}
	case err != nil:
		return err
	default:
		return &Error{Op: "lock", Name: joined(w.names), Err: fmt.Errorf("%w while waiting in line", why)}
	}
}
