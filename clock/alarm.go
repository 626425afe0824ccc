package clock

import (
	"context"
	"sync"
	"time"
)

// Go's timers run on a clock that stops in suspend. So nothing here sleeps for
// longer than nap at a time: after a resume, an instant that passed meanwhile is
// noticed within one nap, and not after the whole rest of the wait.
const nap = time.Second

// doze returns how long to sleep before looking at c again, on the way to t.
func doze(c Clock, t Instant) time.Duration {
	return max(min(t.Sub(c.Now()), nap), time.Millisecond)
}

// Sleep returns nil as soon as c reaches t, or the cause of ctx when that ends first.
func Sleep(ctx context.Context, c Clock, t Instant) error {
	for c.Now().Before(t) {
		timer := time.NewTimer(doze(c, t))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
	return nil
}

// Alarm calls a function once a clock has reached an instant that may be moved.
// Its methods are safe for concurrent use.
type Alarm struct {
	clock Clock
	ring  func()

	mu    sync.Mutex // guards what follows
	at    Instant
	timer *time.Timer
	done  bool // rung or stopped
}

// NewAlarm returns an alarm that calls ring, once and in a goroutine of its own,
// when c reaches at.
func NewAlarm(c Clock, at Instant, ring func()) *Alarm {
	a := &Alarm{clock: c, ring: ring, at: at}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(doze(c, at), a.look)
	return a
}

// Move changes when the alarm rings. It has no effect once it rang or was stopped.
func (a *Alarm) Move(at Instant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.done {
		a.at = at
		a.timer.Reset(doze(a.clock, at))
	}
}

// Stop makes sure that the alarm does not begin to ring any more.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	a.timer.Stop()
}

// look is what the timer calls, in a goroutine of its own.
func (a *Alarm) look() {
	if a.due() {
		a.ring()
	}
}

// due reports whether it is time to ring, once; else it goes back to sleep.
func (a *Alarm) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return false
	}
	if a.clock.Now().Before(a.at) {
		a.timer.Reset(doze(a.clock, a.at))
		return false
	}
	a.done = true
	return true
}
