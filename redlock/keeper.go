package redlock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// keeper keeps the masters in tenure: whenever a vote did not count, it finds out what is to
// be done, and does that until nothing is left to do. It is one goroutine at most.
type keeper struct {
	tending *tending
	life    sync.WaitGroup

	mu        sync.Mutex // guards what follows
	running   bool
	again     bool              // somebody asked for a turn that begins later than now
	looked    clock.Instant     // when the last turn began; 0 before the first
	standings []tenure.Standing // where they stood last
	last      []*guard.Tail     // what they said then
	quiet     chan struct{}     // closed when nothing is left to be sent for now
	nudge     chan struct{}     // ends a pause
}

func newKeeper(c *Client, l tenure.List) *keeper {
	return &keeper{tending: c.tend(tenure.NewMachine(l)), standings: make([]tenure.Standing, len(c.masters)),
		last: make([]*guard.Tail, len(c.masters)), nudge: make(chan struct{}, 1)}
}

// Bounds of how often the keeper looks at the masters, however many votes do not count.
const (
	unasked = time.Second           // of itself
	asked   = 20 * time.Millisecond // for somebody who waits for what it finds
)

// wake has the keeper look at the masters, if it has not of late.
func (k *keeper) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.looked == 0 || k.tending.client.clock.Now().Sub(k.looked) > unasked {
		k.start()
	}
}

// start has the keeper run, unless it does, or the client is closed. The caller holds mu.
func (k *keeper) start() {
	if !k.running && k.tending.client.closed.Err() == nil {
		k.running = true
		k.life.Go(k.run)
	}
}

// ask has the keeper look at the masters now. The channel is closed when it has, and has
// done all that can be done at once.
func (k *keeper) ask() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.quiet == nil {
		k.quiet = make(chan struct{})
	}
	k.again = true
	k.start()
	select {
	case k.nudge <- struct{}{}:
	default: // it has been nudged already
	}
	return k.quiet
}

// settled returns where the masters stand when nothing is left to do at once, or ctx has
// ended.
func (k *keeper) settled(ctx context.Context) []tenure.Standing {
	select {
	case <-k.ask():
	case <-ctx.Done():
	case <-k.tending.client.closed.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.standings
}

// tails returns what the masters said last; nil for those that did not answer.
func (k *keeper) tails() []*guard.Tail {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

func (k *keeper) run() {
	ctx := k.tending.client.closed
	for ctx.Err() == nil {
		k.mu.Lock()
		k.again, k.looked = false, k.tending.client.clock.Now()
		k.mu.Unlock()
		if k.tending.turn() {
			continue
		}
		k.trace()
		p := k.tending.machine.Pause()
		if k.rest(p) {
			return
		}
		sleep(ctx, asked)
		k.pause(ctx, p-asked)
	}
	k.rest(0)
}

// rest notes that nothing can be sent now, and reports whether the keeper is done.
func (k *keeper) rest(p time.Duration) (done bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.standings, k.last = k.tending.standings(), slices.Clone(k.tending.tails)
	closed := k.tending.client.closed.Err() != nil
	if k.again && !closed {
		return false
	}
	if k.quiet != nil {
		close(k.quiet)
		k.quiet = nil
	}
	k.running = p > 0 && !closed
	return !k.running
}

// trace tells of masters that got or lost tenure since the last rest.
func (k *keeper) trace() {
	k.mu.Lock()
	last := k.standings
	k.mu.Unlock()
	c := k.tending.client
	for i, s := range k.tending.standings() {
		before := last[i].State
		if votes := s.State == tenure.Votes; before != s.State && (votes || before == tenure.Votes) && k.tending.tails[i] != nil {
			c.trace.tenure(c.masters[i].Addr(), votes)
		}
	}
}

func (k *keeper) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.nudge:
	case <-ctx.Done():
	}
}

// close returns when the keeper has ended. The client is closed, and so are the masters.
func (k *keeper) close() {
	k.mu.Lock()
	k.again = false
	k.mu.Unlock() // who wakes it from now on sees that it must not begin
	k.life.Wait()
}
