// Package redlock is a distributed lock over independent Redis masters.
//
// The algorithm is Redlock (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/):
//
//  1. Make a fresh random token, for every attempt anew: a token that is used twice
//     lets a late release of the first attempt free the second.
//  2. Read the clock, before anything is sent. The lease ends a drift before the
//     ttl has passed since then.
//  3. Send SET name token NX PX ttl+grace to every master at once.
//  4. Once a majority granted, and the deadline has not passed, the lock is held.
//     With Fencing, a majority must also have counted up to the lease's number.
//  5. Otherwise release it on every master, also on those that did not answer.
//
// A lease is a promise until its deadline and no longer: Valid, Remaining and Context
// tell, by a clock that counts suspend. What is not promised: that a process which is
// paused between looking at Valid and acting is still in time. See the README for all
// that is and is not guaranteed.
//
// The package prints nothing, and starts no goroutine that [Client.Close] does not end.
package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// TryLock tries once to take name for ttl. It fails with [ErrHeld] when others have
// it, and with [ErrNoQuorum] when too few masters answer; in no case does it leave
// the lock behind. An end of ctx gives the attempt up. If ctx carries a lease of name,
// the new lease is one within that: both last as long as it does.
func (c *Client) TryLock(ctx context.Context, name string, ttl time.Duration) (*Lease, error) {
	names := []string{name}
	if err := c.checkLock(names, ttl); err != nil {
		return nil, err
	}
	if inner, err := c.within(ctx, names); inner != nil || err != nil {
		return inner, err
	}
	lease, err := c.attempt(ctx, names, ttl)
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// Lock takes name for ttl, and waits for it until ctx ends. The error is then ctx's,
// and tells what stood in the way last: errors.Is finds both. Who waits in one process
// is served in order. If ctx carries a lease of name, the new lease is one within that.
func (c *Client) Lock(ctx context.Context, name string, ttl time.Duration) (*Lease, error) {
	return c.LockAll(ctx, ttl, name)
}

// LockAll takes all of the names or none, as one lease, and waits for them as Lock does.
// Callers that name them in another order, or only some of them, can't deadlock.
func (c *Client) LockAll(ctx context.Context, ttl time.Duration, names ...string) (*Lease, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if err := c.checkLock(names, ttl); err != nil {
		return nil, err
	}
	if inner, err := c.within(ctx, names); inner != nil || err != nil {
		return inner, err
	}
	return c.wait(ctx, names, ttl)
}

// attempt is the algorithm: one round of votes on one fresh token.
func (c *Client) attempt(ctx context.Context, names []string, ttl time.Duration) (*Lease, *Error) {
	c.busy.RLock()
	defer c.busy.RUnlock()
	if err := c.alive(ctx); err != nil {
		return nil, &Error{Op: "lock", Name: joined(names), Err: err}
	}
	c.trace.attempt(joined(names))
	token := uuid.NewString()
	start := c.clock.Now()
	deadline := c.drift.Deadline(start, ttl)
	q := c.newQuestion(names, deadline)
	q.needTenure()
	q.ask(c.newAcquire(q, token, ttl+clock.Grace))
	decision := q.count(ctx)
	var fence uint64
	if decision == quorum.Won && c.fencing != nil {
		fence, decision = c.fence(ctx, q, token)
	}
	if decision == quorum.Won {
		c.lastTrip.Store(int64(q.ripe.Sub(start)))
		if c.guard != nil {
			c.confirm(q.tails, q.ripe)
		}
		return c.held(ctx, q, token, fence, ttl, start), nil
	}
	if decision == quorum.Lost {
		q.countRest(ctx) // so that it is clear whether the lock is held, or the masters are away
	}
	c.letGo(q, token, c.gone(start, ttl))
	q.advise(ctx)
	return nil, q.fail("lock", c.reason(ctx, q, decision))
}

// held returns the lease of an attempt that succeeded.
func (c *Client) held(ctx context.Context, q *question, token string, fence uint64, ttl time.Duration, start clock.Instant) *Lease {
	h := &hold{
		client: c,
		names:  q.names,
		token:  token,
		fence:  fence,
		ttl:    ttl,
		won:    q,
		asked:  q,
		turn:   make(chan struct{}, 1),
		freed:  make(chan struct{}),
		leases: 1,
		until:  quorum.NewHold(len(q.votes), ttl, c.drift, start),
	}
	h.first = newLease(ctx, h)
	c.lines.held(h)
	c.trace.held(h.first)
	return h.first
}

// letGo releases, on every master, what an attempt that failed may have set there.
// It does so when the caller's context has ended too, or others would wait for keys
// that nobody holds. It returns when every master that can be reached has done it.
func (c *Client) letGo(q *question, token string, gone clock.Instant) {
	q.countIn()
	release := c.askRelease(q.names, token, gone, q.votes)
	release.countAll()
	// A master answers in order: what it said of the SET is here by now.
	q.countIn()
	for i, v := range release.votes {
		q.votes[i].Left = v.Left // a release is told how long the other's key lives
	}
}

// gone returns when the keys that were asked for at start have ended by themselves, on
// masters that got the request in time.
func (c *Client) gone(start clock.Instant, ttl time.Duration) clock.Instant {
	return quorum.Gone(start, ttl, c.drift)
}

// askRelease sends the release of a token to every master, where its key can be until
// it is gone by itself. The votes are what the masters said of the lock: one that was
// never sent the token owes nothing.
func (c *Client) askRelease(names []string, token string, gone clock.Instant, votes []Vote) *question {
	q := c.newQuestion(names, clock.Never)
	r := master.NewRelease(q.keys(), token, gone)
	q.askEach(func(voter int) master.Request {
		r.Owe = votes == nil || !votes[voter].unsent
		return r
	})
	return q
}

// reason returns why an attempt failed. All votes are in.
func (c *Client) reason(ctx context.Context, q *question, decision quorum.Decision) error {
	switch {
	case c.closed.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ended(ctx)
	case decision == quorum.Expired:
		return fmt.Errorf("%w: the votes took longer than the ttl", ErrExpired)
	case q.round.RefusedByMajority():
		return ErrHeld
	case q.unsafe():
		return ErrUnsafe
	default:
		return ErrNoQuorum
	}
}

// mayPass reports whether what made an attempt fail can be over the next time.
func mayPass(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrExpired)
}

func (c *Client) checkLock(names []string, ttl time.Duration) error {
	err := c.checkTTL(ttl)
	if len(names) == 0 {
		err = errors.New("no name was given")
	}
	for _, name := range names {
		err = cmp.Or(err, c.checkName(name))
	}
	if err != nil {
		return &Error{Op: "lock", Name: joined(names), Err: err}
	}
	return nil
}
