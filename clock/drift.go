package clock

import (
	"errors"
	"time"
)

// Drift bounds how far two clocks may run apart while a lease lasts: the holder
// gives up this much of its ttl, so that it stops before any master lets go.
// The rate is the paper's clock drift factor; the floor covers a master's expiry
// resolution of 1 ms on both sides.
type Drift struct {
	Rate  float64       // share of the ttl, 0 <= Rate < 1
	Floor time.Duration // added to it, whatever the ttl
}

// DefaultDrift is 1 % and 2 ms, as the Redis documentation of Redlock has it.
var DefaultDrift = Drift{Rate: 0.01, Floor: 2 * time.Millisecond}

// Of returns the drift of a lease of the given ttl.
func (d Drift) Of(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl)*d.Rate) + d.Floor
}

// Deadline returns the instant at which the holder must stop, for a lease of the
// given ttl whose first request was sent at start or later.
// Masters count whole milliseconds, so the holder counts no fraction either.
func (d Drift) Deadline(start Instant, ttl time.Duration) Instant {
	ttl = ttl.Truncate(time.Millisecond)
	return start.Add(ttl - d.Of(ttl))
}

// Validate returns an error for a drift that no clock has.
func (d Drift) Validate() error {
	if !(d.Rate >= 0 && d.Rate < 1) { // written so that NaN fails too
		return errors.New("drift rate must be at least 0 and below 1")
	}
	if d.Floor < 0 {
		return errors.New("drift floor must not be negative")
	}
	return nil
}

// Tolerance is the greatest step of a master's clock that may go unseen, and Grace
// is the time that keys outlive what their holders count on, so that such a step
// can't free a key early. It costs nothing unless a holder crashes. All clients of
// a set of masters must agree on it: it is a constant.
const (
	Tolerance = 250 * time.Millisecond
	Grace     = 2 * Tolerance
)
