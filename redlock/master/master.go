// Package master is one Redis master as a voter. It is the only place that speaks Redis.
//
// A master is reached over a lane: one goroutine, one connection, one queue.
//
//  1. Whatever is queued when the lane is free goes out as one pipeline, in the order
//     in which it came. So a release can't overtake its SET, and the more callers
//     there are, the fewer system calls each costs.
//  2. After any time-out or protocol error the connection is closed: a late reply is
//     never taken for another request's. The next connection to the same process
//     first kills its predecessor there, so that nothing of it is executed any more.
//  3. A master that is down or hung answers "unknown" at once, while the lane goes on
//     trying to reach it in the background. It costs the other masters nothing.
//  4. A release that could not be delivered is delivered when the master is back,
//     before anything else, as long as its key could still be there.
package master

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
)

// Bounds of a lane.
const (
	maxQueue   = 1 << 13               // requests that wait, and releases that are owed
	checkTime  = time.Second           // after which a connection is asked whether all is as it was
	minBackoff = 50 * time.Millisecond // between attempts to reach a master
	maxBackoff = time.Second
)

// Why a request was not sent.
var (
	ErrClosed = errors.New("client is closed")
	errFull   = fmt.Errorf("%d requests are waiting for it already", maxQueue)
	errLate   = errors.New("it was too late to send")
	errTaken  = errors.New("still connecting")
)

// state is what a lane does with a request that comes now.
type state uint8

const (
	fresh   state = iota // nothing was ever asked: the first request opens the lane
	opening              // it waits for the connection
	up                   // it is sent
	down                 // it is declined at once
	closed               // it is declined for ever
)

// Master is one Redis master. Its methods are safe for concurrent use.
type Master struct {
	redis  *redis.Options
	clock  clock.Clock
	ear    ear
	memory *memory       // nil where there is no guard
	wake   chan struct{} // there is something in the queue, or the lane is to close
	done   chan struct{} // the lane has ended

	lateCommands atomic.Bool // CLIENT KILL was refused

	mu    sync.Mutex // guards what follows
	state state
	stop  context.CancelFunc // gives up connecting; nil while fresh
	why   error              // of down
	queue []Request          // in the order in which they came
	debts map[string]Request // releases that could not be delivered, by token
}

// New returns the master that o leads to. It is reached when it is first asked.
// If its clock is to be watched over span, for the guard, it ends its batches of locks and
// extensions with a [guard.Tail]; 0 is for no guard.
func New(o *redis.Options, c clock.Clock, span time.Duration) *Master {
	o = settings(o)
	return &Master{
		redis:  o,
		clock:  c,
		memory: newMemory(span),
		ear:    ear{redis: o, listeners: map[string]func(){}},
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		debts:  map[string]Request{},
	}
}

// Addr returns the master's address, which is its name in errors.
func (m *Master) Addr() string { return m.redis.Addr }

// Warnings says what is weaker than it looks.
func (m *Master) Warnings() []string {
	if m.lateCommands.Load() {
		return []string{"CLIENT KILL is refused: after a time-out, a late command may leave a key that is nobody's until its ttl ends"}
	}
	return nil
}

// Send queues r, or answers it at once if the master is away. It never blocks.
func (m *Master) Send(r Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == fresh {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(context.Background())
		m.state = opening
		go m.run(ctx)
	}
	switch {
	case m.state == closed:
		r.decline(ErrClosed)
	case m.state == down:
		m.owe(r)
		r.decline(m.why)
	case m.state == opening && r.op == Release && m.takeBack(r.token):
		r.decline(errTaken)
	case len(m.queue) >= maxQueue:
		m.owe(r)
		r.decline(errFull)
	default:
		m.queue = append(m.queue, r)
		m.nudge()
	}
}

// Close sends what is queued, if the master is there, and returns when the lane has
// ended, and nobody listens any more. Requests that come later are declined.
func (m *Master) Close() {
	m.ear.close()
	m.mu.Lock()
	stop, idle := m.stop, len(m.queue) == 0
	m.state = closed
	m.mu.Unlock()
	if stop != nil {
		if idle { // else what is queued is worth the rest of the way to the master
			stop()
		}
		m.nudge()
		<-m.done
		stop()
	}
}

func (m *Master) nudge() {
	select {
	case m.wake <- struct{}{}:
	default: // it is awake already
	}
}

// takeBack removes the lock request of token, of which nothing has been sent yet.
func (m *Master) takeBack(token string) bool {
	for i, r := range m.queue {
		if r.op == Acquire && r.token == token {
			r.decline(errTaken)
			m.queue = append(m.queue[:i], m.queue[i+1:]...)
			return true
		}
	}
	return false
}

// owe remembers a release for when the master is back, however long that takes: a master
// that hangs executes late what it was sent, and its keys live from then on. There are
// no more of these than leases were taken before it went away; beyond the bound, those
// are forgotten first whose keys must be gone.
func (m *Master) owe(r Request) {
	if r.op != Release || !r.Owe {
		return
	}
	if len(m.debts) >= maxQueue {
		m.forgive()
	}
	if len(m.debts) < maxQueue {
		m.debts[r.token] = r
	}
}

// forgive forgets the debts whose keys are gone by themselves.
func (m *Master) forgive() {
	now := m.clock.Now()
	for token, r := range m.debts {
		if !now.Before(r.notAfter) {
			delete(m.debts, token)
		}
	}
}
