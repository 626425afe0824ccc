// Package clocktest has a clock for tests: it follows Go's own time, so that it
// obeys a testing/synctest bubble, and can do what real clocks do at the worst moment.
package clocktest

import (
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Clock follows time.Now, with an offset. It is safe for concurrent use.
type Clock struct {
	mu     sync.Mutex // guards what follows
	origin time.Time
	skew   time.Duration
	frozen bool
	at     clock.Instant // while frozen
}

// New returns a clock that begins at an arbitrary instant.
func New() *Clock {
	return &Clock{origin: time.Now().Add(-time.Hour)}
}

// Now implements [clock.Clock].
func (c *Clock) Now() clock.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		return c.at
	}
	return c.running()
}

func (c *Clock) running() clock.Instant {
	return clock.Instant(time.Since(c.origin) + c.skew)
}

// Suspend is what a machine looks like after a sleep of d: this clock has counted
// it, while no Go timer has moved.
func (c *Clock) Suspend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew += d
}

// Freeze stops the clock, as in a virtual machine that stands still while the
// rest of the world goes on.
func (c *Clock) Freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		c.at, c.frozen = c.running(), true
	}
}

// Thaw lets the clock go on from where it stood: what passed meanwhile is not seen.
func (c *Clock) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		c.skew += c.at.Sub(c.running())
		c.frozen = false
	}
}
