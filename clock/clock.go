// Package clock says which clock a holder may trust, and for how long.
//
// A lease ends at an instant that the holder works out by itself, so everything
// rests on one clock that (1) never steps, and (2) counts all the time that
// passes, also while the machine sleeps. The wall clock breaks the first rule.
// Go's monotonic clock breaks the second: it stops in suspend, and a laptop
// would wake up still believing in a lease that others have held since.
// [System] obeys both.
//
// Not promised: a virtual machine that is stopped or moved together with all
// of its clocks can't notice it by any clock of its own.
package clock

import (
	"math"
	"time"
)

// Clock tells the time that a holder trusts. It must never go back, and must be
// safe for concurrent use.
type Clock interface {
	Now() Instant
}

// System is this machine's suspend-aware clock: CLOCK_BOOTTIME on Linux,
// CLOCK_MONOTONIC on Darwin (which counts sleep there), the time since boot on
// Windows (in steps of 10 to 16 ms), Go's monotonic clock elsewhere.
var System Clock = system{}

// Instant is a reading of a [Clock], in nanoseconds since an origin of that
// clock's own. Readings of different clocks, or of different boots, must not be
// compared. It is no wall-clock time on purpose.
type Instant int64

// Never is later than any reading.
const Never Instant = math.MaxInt64

// Add returns the instant d after t.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns how long t is after u.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Before reports whether t comes before u.
func (t Instant) Before(u Instant) bool { return t < u }
