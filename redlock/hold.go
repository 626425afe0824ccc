package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// hold is what is held on the masters: one token on the keys of one or several names,
// until a deadline. The leases that share it, one within another, each let go once.
type hold struct {
	client *Client
	names  []string
	token  string
	fence  uint64 // 0 for none
	ttl    time.Duration
	won    *question // what won it: late votes come here
	first  *Lease    // what the hooks are told of

	turn  chan struct{} // held by the one extension that is in progress
	freed chan struct{} // closed when the release is on its way

	mu     sync.Mutex // guards what follows
	leases int        // that have not let go
	until  *quorum.Hold
	asked  *question // the last that was asked for its sake
	over   error     // why it ended before the deadline: errReleased or ErrNotHeld

	ctx    context.Context //nolint:containedctx // ends with the hold; nil until somebody asks
	cancel context.CancelCauseFunc
	alarm  *clock.Alarm
}

// errReleased: the holder let go. The contexts end with context.Canceled as their cause.
var errReleased = errors.New("released")

func (h *hold) remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left()
}

// left is remaining, for who holds mu.
func (h *hold) left() time.Duration {
	if h.over != nil {
		return 0
	}
	return h.until.Left(h.client.clock.Now())
}

// done returns a context that ends with the hold, and why as its cause.
func (h *hold) done() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx == nil {
		h.ctx, h.cancel = context.WithCancelCause(context.Background())
		if h.left() == 0 {
			h.cancel(h.cause())
		} else {
			h.alarm = clock.NewAlarm(h.client.clock, h.until.Deadline(), h.expire)
		}
	}
	return h.ctx
}

// expire is what the alarm rings: the deadline has passed.
func (h *hold) expire() {
	h.mu.Lock()
	if h.over != nil {
		h.mu.Unlock()
		return // a release came first
	}
	if h.left() > 0 { // an extension came first
		h.alarm = clock.NewAlarm(h.client.clock, h.until.Deadline(), h.expire)
		h.mu.Unlock()
		return
	}
	h.cancel(ErrExpired)
	h.mu.Unlock()
	h.client.trace.lost(h.first, ErrExpired)
}

// why returns why the hold has ended.
func (h *hold) why() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause()
}

// cause is why, for who holds mu.
func (h *hold) cause() error {
	switch {
	case h.over == nil:
		return ErrExpired
	case errors.Is(h.over, errReleased):
		return context.Canceled
	default:
		return h.over
	}
}

// finish ends the hold now. The caller holds mu.
func (h *hold) finish(why error) {
	h.over = why
	if h.ctx != nil {
		h.cancel(h.cause())
	}
	if h.alarm != nil {
		h.alarm.Stop()
	}
}

// drop ends the hold before its time: it can't be relied on any more.
func (h *hold) drop(why error) {
	h.mu.Lock()
	if h.over != nil {
		h.mu.Unlock()
		return
	}
	h.finish(why)
	h.mu.Unlock()
	h.client.trace.lost(h.first, why)
}

// share counts one more lease, if the hold is still good for it.
func (h *hold) share() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leases == 0 || h.left() == 0 {
		return false
	}
	h.leases++
	return true
}

// askToExtend sends the extension, unless the hold has ended. Nothing is sent after
// that: an extension behind a release could put back what was let go.
func (h *hold) askToExtend() (start clock.Instant, q *question, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	start = h.client.clock.Now()
	switch {
	case h.over != nil:
		return 0, nil, ErrNotHeld
	case !start.Before(h.until.Deadline()):
		return 0, nil, ErrExpired
	}
	h.until.Asked(start)
	q = h.client.newQuestion(h.names, h.until.Deadline())
	q.needTenure()
	extend, restore := h.newExtend(false), h.newExtend(true)
	h.noteTenures()
	q.askEach(func(voter int) master.Request {
		if h.mayHaveLost(voter) {
			return restore
		}
		return extend
	})
	h.asked = q
	return start, q, nil
}

func (h *hold) newExtend(restore bool) master.Request {
	return master.NewExtend(h.won.keys(), h.token, h.ttl+clock.Grace, restore, h.until.Deadline())
}

// noteTenures notes who granted the last question, and in which tenure. The caller holds mu.
func (h *hold) noteTenures() {
	if h.client.guard == nil {
		return
	}
	h.asked.countIn()
	for i, v := range h.asked.votes {
		if v.Answer == quorum.Granted {
			h.until.Granted(i, h.asked.tails[i].Tenure())
		}
	}
}

// mayHaveLost reports whether a master's key is to be put back if it is gone. Without a
// guard nobody knows.
func (h *hold) mayHaveLost(voter int) bool {
	return h.client.guard != nil && h.until.MayHaveLost(voter, h.client.masters[voter].Tenure())
}

// extended takes the outcome of an extension that was asked for at start.
func (h *hold) extended(start clock.Instant, err error) error {
	h.mu.Lock()
	switch {
	case h.over != nil: // meanwhile
		h.mu.Unlock()
		return h.fail("extend", ErrNotHeld)
	case errors.Is(err, ErrNotHeld):
		h.finish(ErrNotHeld)
		h.mu.Unlock()
		h.client.trace.lost(h.first, ErrNotHeld)
		return err
	case err != nil:
		h.mu.Unlock()
		return err
	}
	h.until.Extended(start)
	if h.alarm != nil {
		h.alarm.Move(h.until.Deadline())
	}
	h.mu.Unlock()
	h.client.trace.extended(h.first)
	return nil
}

// letGo counts one lease less. With the last one the hold ends and its release is sent:
// q is the question. before is why the hold had ended before, if that is known. Once it
// is over no extension is asked for, so that none can follow the release; those asked
// for before are ahead of it in every queue.
func (h *hold) letGo() (q *question, before, err error) {
	h.client.busy.RLock()
	defer h.client.busy.RUnlock()
	h.mu.Lock()
	if h.client.closed.Err() != nil {
		h.mu.Unlock()
		return nil, nil, h.fail("release", ErrClosed)
	}
	if h.leases--; h.leases > 0 {
		h.mu.Unlock()
		return nil, nil, nil
	}
	before = h.over
	h.finish(errReleased)
	h.mu.Unlock()
	h.won.countIn() // the votes that came after it was won
	votes := h.won.votes
	if h.asked != h.won {
		votes = nil // an extension may have put the key on any master
	}
	q = h.client.askRelease(h.names, h.token, h.until.Gone(), votes)
	h.client.lines.ended(h)
	return q, before, nil
}

func (h *hold) expired() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until.Left(h.client.clock.Now()) == 0
}

func (h *hold) fail(op string, err error) *Error {
	return &Error{Op: op, Name: joined(h.names), Err: err}
}
