package redlock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// Lease is a lock that is held until a deadline. Nobody else gets the lock before
// the deadline, or before Release. Its methods are safe for concurrent use.
type Lease struct {
	client *Client
	name   string
	token  string
	ttl    time.Duration
	values context.Context //nolint:containedctx // Context hands its values on; its end means nothing here

	turn chan struct{} // held by the one Extend that is in progress

	mu       sync.Mutex // guards what follows
	won      *question  // what won it: late votes come here
	deadline clock.Instant
	over     error           // why it ended before the deadline: errReleased or ErrNotHeld
	ctx      context.Context //nolint:containedctx // what Context returns; nil until then
	cancel   context.CancelCauseFunc
	alarm    *clock.Alarm
}

// errReleased: the holder let go. The lease's context ends with context.Canceled as its cause.
var errReleased = errors.New("released")

func (c *Client) newLease(ctx context.Context, q *question, token string, ttl time.Duration, deadline clock.Instant) *Lease {
	l := &Lease{
		client:   c,
		name:     q.name,
		token:    token,
		ttl:      ttl,
		values:   context.WithoutCancel(ctx),
		turn:     make(chan struct{}, 1),
		won:      q,
		deadline: deadline,
	}
	c.trace.held(l)
	return l
}

// Name returns what is locked.
func (l *Lease) Name() string { return l.name }

// Token returns the random value that the keys of this lease hold on the masters.
// It is no fencing token: it has no order.
func (l *Lease) Token() string { return l.token }

// Remaining returns the validity: how long the lease can still be relied on, without
// asking anybody. It is 0 once the lease has ended.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.remaining()
}

func (l *Lease) remaining() time.Duration {
	if l.over != nil {
		return 0
	}
	return max(0, l.deadline.Sub(l.client.clock.Now()))
}

// Valid reports whether the lease can be relied on now. Work that must not overlap
// with another holder's looks here, or at Context, before each step. A process that is
// paused after looking acts too late all the same.
func (l *Lease) Valid() bool { return l.Remaining() > 0 }

// Context returns a context that is done when the lease ends: with the cause
// [ErrExpired] at the deadline, as extensions have moved it by then, [ErrNotHeld] when
// a majority of the masters say that the lock is not ours, and context.Canceled after
// Release. It carries the values of the context that the lock was taken with, and the
// lease itself, for [FromContext].
func (l *Lease) Context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.WithValue(l.values, leaseKey{}, l))
		if l.remaining() == 0 {
			l.cancel(l.cause())
		} else {
			l.alarm = clock.NewAlarm(l.client.clock, l.deadline, l.expire)
		}
	}
	return l.ctx
}

// expire is what the alarm rings: the deadline has passed.
func (l *Lease) expire() {
	l.mu.Lock()
	if l.over != nil {
		l.mu.Unlock()
		return // Release came first
	}
	if l.remaining() > 0 { // an extension came first
		l.alarm = clock.NewAlarm(l.client.clock, l.deadline, l.expire)
		l.mu.Unlock()
		return
	}
	l.cancel(ErrExpired)
	l.mu.Unlock()
	l.client.trace.lost(l, ErrExpired)
}

// cause returns why the lease has ended.
func (l *Lease) cause() error {
	switch {
	case l.over == nil:
		return ErrExpired
	case errors.Is(l.over, errReleased):
		return context.Canceled
	default:
		return l.over
	}
}

// finish ends the lease now. The caller holds mu.
func (l *Lease) finish(why error) {
	l.over = why
	if l.ctx != nil {
		l.cancel(l.cause())
	}
	if l.alarm != nil {
		l.alarm.Stop()
	}
}

// Extend moves the deadline to a full ttl from now. It needs the agreement of a
// majority before the old deadline: [ErrExpired] means that it came too late,
// [ErrNotHeld] that a majority say the lock is not ours any more, after which the
// lease is not valid, and [ErrNoQuorum] that too few answered. After that, and when
// ctx ends, the old deadline still stands, and another try may succeed.
func (l *Lease) Extend(ctx context.Context) error {
	const op = "extend"
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return &Error{Op: op, Name: l.name, Err: ended(ctx)}
	}
	if err := l.client.alive(ctx); err != nil {
		return &Error{Op: op, Name: l.name, Err: err}
	}
	start, q, err := l.askToExtend()
	if err != nil {
		return &Error{Op: op, Name: l.name, Err: err}
	}
	decision := q.count(ctx)
	if decision == quorum.Open {
		return q.fail(op, ended(ctx))
	}
	err = q.verdict(op, decision)
	return l.extended(start, err)
}

// askToExtend sends the extension, unless the lease has ended. Nothing is sent after
// that: an extension behind a release could put back what was let go.
func (l *Lease) askToExtend() (start clock.Instant, q *question, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	start = l.client.clock.Now()
	switch {
	case l.over != nil:
		return 0, nil, ErrNotHeld
	case !start.Before(l.deadline):
		return 0, nil, ErrExpired
	}
	q = l.client.newQuestion(l.name, l.deadline)
	q.ask(master.NewExtend(l.client.prefix+l.name, l.token, l.ttl+clock.Grace, l.deadline))
	return start, q, nil
}

// extended takes the outcome of an extension that was asked for at start.
func (l *Lease) extended(start clock.Instant, err error) error {
	l.mu.Lock()
	switch {
	case l.over != nil: // meanwhile
		err = &Error{Op: "extend", Name: l.name, Err: ErrNotHeld}
		l.mu.Unlock()
		return err
	case errors.Is(err, ErrNotHeld):
		l.finish(ErrNotHeld)
		l.mu.Unlock()
		l.client.trace.lost(l, ErrNotHeld)
		return err
	case err != nil:
		l.mu.Unlock()
		return err
	}
	l.deadline = max(l.deadline, l.client.drift.Deadline(start, l.ttl))
	if l.alarm != nil {
		l.alarm.Move(l.deadline)
	}
	l.mu.Unlock()
	l.client.trace.extended(l)
	return nil
}

// Release lets go, on every master. It returns nil once a majority has, [ErrExpired]
// or [ErrNotHeld] if the lock was another's or nobody's by then, and [ErrNoQuorum] if
// too few masters could be reached; those get the release when they are back. It works
// with a ctx that has ended, as a deferred release must, and is bounded by each
// master's own time-outs. Releasing again, or releasing nil, returns nil.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	q, before, err := l.letGo()
	if q == nil {
		return err
	}
	l.client.trace.released(l)
	err = q.verdict("release", q.count(context.WithoutCancel(ctx)))
	if !errors.Is(err, ErrNotHeld) {
		return err
	}
	if before == nil && !l.client.clock.Now().Before(l.deadline) {
		before = ErrExpired
	}
	return q.fail("release", cmp.Or(before, ErrNotHeld))
}

// letGo ends the lease and sends its release, once. It returns why the lease had
// ended before, if that is known. Once it is over no extension is asked for, so that
// none can follow the release; those asked for before are ahead of it in every queue.
func (l *Lease) letGo() (q *question, before, err error) {
	l.mu.Lock()
	if errors.Is(l.over, errReleased) {
		l.mu.Unlock()
		return nil, nil, nil
	}
	if l.client.closed.Err() != nil {
		l.mu.Unlock()
		return nil, nil, &Error{Op: "release", Name: l.name, Err: ErrClosed}
	}
	before = l.over
	l.finish(errReleased)
	l.mu.Unlock()
	l.won.countIn() // the votes that came after it was won
	return l.client.askRelease(l.name, l.token, l.client.gone(l.ttl), l.won.votes), before, nil
}
