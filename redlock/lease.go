package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/quorum"
)

// Lease is a lock that is held until a deadline. Nobody else gets the lock before
// the deadline, or before Release. Its methods are safe for concurrent use.
type Lease struct {
	hold   *hold
	values context.Context //nolint:containedctx // Context hands its values on; its end means nothing here

	mu       sync.Mutex // guards what follows
	released bool
	ctx      context.Context //nolint:containedctx // what Context returns; nil until then
	cancel   context.CancelCauseFunc
}

func newLease(ctx context.Context, h *hold) *Lease {
	return &Lease{hold: h, values: context.WithoutCancel(ctx)}
}

// Name returns what is locked; of several names, a list with commas.
func (l *Lease) Name() string { return joined(l.hold.names) }

func joined(names []string) string { return strings.Join(names, ",") }

// Token returns the random value that the keys of this lease hold on the masters.
// It is no fencing token: it has no order.
func (l *Lease) Token() string { return l.hold.token }

// Fence returns the lease's number: greater than that of any lease of this name whose Lock
// returned before this one's was called, and nobody else's, but for leases within one
// another. Hand it to the resource with each request, the first read too, and have that
// refuse numbers smaller than the greatest it was shown (see package fence): then it is
// safe from holders that act too late. It is 0 without Options.Fencing, and stays the same
// when the lease is extended.
func (l *Lease) Fence() uint64 { return l.hold.fence }

// Remaining returns the validity: how long the lease can still be relied on, without
// asking anybody. It is 0 once the lease has ended.
func (l *Lease) Remaining() time.Duration {
	if l.isReleased() {
		return 0
	}
	return l.hold.remaining()
}

func (l *Lease) isReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released
}

// Valid reports whether the lease can be relied on now. Work that must not overlap
// with another holder's looks here, or at Context, before each step. A process that is
// paused after looking acts too late all the same.
func (l *Lease) Valid() bool { return l.Remaining() > 0 }

// Context returns a context that is done when the lease ends: with the cause
// [ErrExpired] at the deadline, as extensions have moved it by then, [ErrNotHeld] when
// a majority of the masters say that the lock is not ours, and context.Canceled after
// Release. It carries the values of the context that the lock was taken with, and the
// lease itself, for [FromContext] and for locking its name again.
func (l *Lease) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(endsWith{l.hold.done(), l.carriedBy(l.values)})
		if l.released {
			l.cancel(context.Canceled)
		}
	}
	return l.ctx
}

// endsWith is a context that ends with one, and has the values of another.
type endsWith struct {
	context.Context                 //nolint:containedctx // it is a context itself
	values          context.Context //nolint:containedctx // likewise
}

func (c endsWith) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// Extend moves the deadline to a full ttl from now. It needs the agreement of a
// majority before the old deadline: [ErrExpired] means that it came too late,
// [ErrNotHeld] that a majority say the lock is not ours any more, after which the
// lease is not valid, and [ErrNoQuorum] that too few answered. After that, and when
// ctx ends, the old deadline still stands, and another try may succeed.
func (l *Lease) Extend(ctx context.Context) error {
	const op = "extend"
	h := l.hold
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return h.fail(op, ended(ctx))
	}
	if err := h.client.alive(ctx); err != nil {
		return h.fail(op, err)
	}
	if l.isReleased() {
		return h.fail(op, ErrNotHeld)
	}
	start, q, err := h.askToExtend()
	if err != nil {
		return h.fail(op, err)
	}
	decision := q.count(ctx)
	if decision == quorum.Open {
		return q.fail(op, ended(ctx))
	}
	return h.extended(start, q.verdict(op, decision))
}

// Release lets go, on every master. It returns nil once a majority has, [ErrExpired]
// or [ErrNotHeld] if the lock was another's or nobody's by then, and [ErrNoQuorum] if
// too few masters could be reached; those get the release when they are back. It takes no
// heed of ctx, as a deferred release must work when that has ended: each master's own
// time-outs bound it. Releasing again, or releasing nil, returns nil. Of leases of
// one lock within one another, the last to be released lets go.
func (l *Lease) Release(context.Context) error {
	if l == nil || !l.end() {
		return nil
	}
	h := l.hold
	q, before, err := h.letGo()
	if q == nil {
		return err
	}
	h.client.trace.released(l)
	err = q.verdict("release", q.count(context.Background()))
	h.client.lines.told(h.names, q.told)
	if !errors.Is(err, ErrNotHeld) {
		return err
	}
	if before == nil && h.expired() {
		before = ErrExpired
	}
	return q.fail("release", cmp.Or(before, ErrNotHeld))
}

// end marks the lease as released, once.
func (l *Lease) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released {
		return false
	}
	l.released = true
	if l.ctx != nil {
		l.cancel(context.Canceled)
	}
	return true
}

type leaseKey struct{}

// nested is a lease in a context, and the context around it, where the leases are that
// this one lies within.
type nested struct {
	lease  *Lease
	around context.Context //nolint:containedctx // for its values
}

// carriedBy returns ctx with the lease in it.
func (l *Lease) carriedBy(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, nested{l, ctx})
}

// FromContext returns the lease that ctx belongs to: that of Do's f, or the one whose
// Context it comes from; of several, the innermost.
func FromContext(ctx context.Context) (*Lease, bool) {
	n, ok := ctx.Value(leaseKey{}).(nested)
	if !ok {
		return nil, false
	}
	return n.lease, true
}

// within returns a new lease on what a lease in ctx holds already, if that covers names,
// and nil if none of them is held there. Some of them can't be taken together with others:
// the call would wait for itself.
func (c *Client) within(ctx context.Context, names []string) (*Lease, error) {
	for {
		n, ok := ctx.Value(leaseKey{}).(nested)
		if !ok {
			return nil, nil
		}
		h := n.lease.hold
		common := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(h.names, name) })
		if len(common) > 0 && h.client == c && !n.lease.isReleased() && h.remaining() > 0 {
			if len(common) < len(names) {
				return nil, &Error{Op: "lock", Name: joined(names), Err: fmt.Errorf(
					"%q is held by a lease in ctx, and would be waited for: lock the others alone", joined(common))}
			}
			if h.share() {
				return newLease(ctx, h), nil
			}
		}
		ctx = n.around
	}
}
