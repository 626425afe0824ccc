package master

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// errStale: the connection had died while nobody used it.
var errStale = errors.New("the idle connection was closed")

// predecessor is the connection that must be killed before the next one is used.
type predecessor struct {
	run string
	id  int64
}

// run is the lane: it opens a connection, serves over it until it breaks, and
// opens the next one, until the master is closed.
func (m *Master) run(ctx context.Context) {
	defer close(m.done)
	var last predecessor
	backoff := minBackoff
	for {
		s, err := m.connect(ctx, &last)
		if err == nil {
			backoff = minBackoff
			err = m.serve(s)
			s.close()
			if m.fall(err) {
				continue
			}
			return
		}
		if !m.fall(err) || !pause(ctx, backoff) {
			return
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// connect opens a session, makes sure that nothing sent over the one before it can
// still be executed, and delivers what is owed.
func (m *Master) connect(ctx context.Context, last *predecessor) (*session, error) {
	s, err := open(ctx, m.redis, m.clock, m.memory)
	if err != nil {
		return nil, err
	}
	if s.run != "" && s.run == last.run && last.id != 0 {
		var refused bool
		refused, err = s.kill(ctx, last.id)
		m.lateCommands.Store(refused)
	}
	if err == nil {
		*last = predecessor{s.run, s.id} // not before the one before it is gone
	}
	for settled := false; err == nil && !settled; {
		settled, err = m.settle(s)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// settle delivers the releases that are owed, or says that none is: the lane is up then.
func (m *Master) settle(s *session) (settled bool, err error) {
	m.mu.Lock()
	batch := make([]Request, 0, len(m.debts))
	for _, r := range m.debts {
		batch = append(batch, r)
	}
	clear(m.debts)
	if len(batch) == 0 && m.state != closed {
		m.state = up
	}
	m.mu.Unlock()
	if len(batch) == 0 {
		return true, nil
	}
	answers := make(chan Reply, len(batch)) // nobody waits for these any more
	for i := range batch {
		batch[i].To = answers
	}
	owed, err := s.exchange(context.Background(), batch, m.clock.Now())
	if err != nil {
		m.remember(owed)
	}
	return false, err
}

// serve sends what is queued until the connection breaks, or, with a nil error,
// until the master is closed and nothing is queued any more.
func (m *Master) serve(s *session) error {
	checked := m.clock.Now()
	var spare []Request
	for {
		// Those who were just answered get to ask again before the next batch leaves:
		// the longer the batches, the less each request costs.
		runtime.Gosched()
		batch, ok := m.take(spare)
		if !ok {
			return nil
		}
		now := m.clock.Now()
		if slices.ContainsFunc(batch, s.isTooOldFor) {
			m.putBack(batch)
			return errStale
		}
		if now.Sub(checked) > checkTime {
			// Servers and firewalls close idle connections. If all masters
			// seemed to be away then, it would look like no quorum.
			if err := s.check(context.Background()); err != nil {
				m.putBack(batch)
				return err
			}
			now = m.clock.Now()
			checked = now
		}
		owed, err := s.exchange(context.Background(), intime(batch, now), now)
		if err != nil {
			m.remember(owed)
			return err
		}
		clear(batch)
		spare = batch[:0]
	}
}

// take waits for requests and returns all there are. Their place is taken by spare.
func (m *Master) take(spare []Request) (batch []Request, ok bool) {
	for {
		m.mu.Lock()
		batch, ok = m.queue, m.state != closed
		if len(batch) > 0 {
			m.queue = spare
			m.mu.Unlock()
			return batch, true
		}
		m.mu.Unlock()
		if !ok {
			return nil, false
		}
		<-m.wake
	}
}

// intime returns the requests that are still of use to those who asked.
func intime(batch []Request, now clock.Instant) []Request {
	kept := batch[:0]
	for _, r := range batch {
		if (r.op == Acquire || r.op == CountUp || r.op == Extend) && !now.Before(r.notAfter) {
			r.decline(errLate)
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

func (m *Master) putBack(batch []Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(batch, m.queue...)
	if m.state != closed {
		m.state = opening
	}
}

func (m *Master) remember(owed []Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range owed {
		m.owe(r)
	}
}

// fall ends a connection, or an attempt at one: it declines what is queued, and what
// comes until the next one. It reports whether there is to be a next one.
func (m *Master) fall(err error) (again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != closed {
		if errors.Is(err, errStale) {
			return true // what is queued waits for the next one
		}
		m.state, m.why = down, err
	}
	if err == nil {
		err = ErrClosed
	}
	for _, r := range m.queue {
		m.owe(r)
		r.decline(err)
	}
	m.queue = nil
	return m.state != closed
}

// pause waits before the next attempt to connect, unless the lane is to end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
