package quorum

import (
	"math"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Bounds of a wait.
const (
	// maxSleep bounds how long a waiter believes what it was told. Clients that are
	// not of this library free keys without telling.
	maxSleep = 2 * time.Second
	// Masters that did not answer say nothing of when to come back: a waiter asks
	// them again after a time that doubles between these two.
	minRetry = 25 * time.Millisecond
	maxRetry = time.Second
	// patience is the age at which a waiter's jitter has shrunk to a half.
	patience = 100 * time.Millisecond
)

// Standing is what a waiter knows of one master after an attempt that failed.
type Standing struct {
	Answer Answer
	Left   time.Duration // of a refusal: how much longer the other's key lives; negative: for ever; 0: not known
}

// Contender decides when somebody who waits for a lock tries again. It is a plain
// value: no clock is read, and chance comes from outside. The zero Contender has not
// tried yet.
type Contender struct {
	since  clock.Instant // when the wait began
	tried  clock.Instant
	free   []clock.Instant // by master: when its key is gone, as far as is known
	splits int             // attempts in a row that others and we took from each other
	failed int             // attempts in a row without a majority of answers
}

// NewContender returns a contender that began to wait at since.
func NewContender(since clock.Instant) *Contender { return &Contender{since: since} }

// Failed takes what each master said of an attempt that failed, and ended at now. What
// was granted was released again, so it is free.
func (c *Contender) Failed(standings []Standing, now clock.Instant) {
	c.tried = now
	c.free = make([]clock.Instant, len(standings))
	granted, refused := 0, 0
	for i, s := range standings {
		c.free[i] = clock.Never
		switch s.Answer {
		case Granted:
			c.free[i] = now
			granted++
		case Refused:
			refused++
			if s.Left > 0 {
				c.free[i] = now.Add(s.Left)
			}
		default: // says nothing
		}
	}
	c.splits = count(c.splits, granted > 0 && refused > 0)
	c.failed = count(c.failed, granted+refused < Majority(len(standings)))
}

// count counts in a row.
func count(before int, again bool) int {
	if again {
		return before + 1
	}
	return 0
}

// Freed takes the news that a master's key is free, or may be.
func (c *Contender) Freed(master int, now clock.Instant) {
	if master < len(c.free) {
		c.free[master] = min(c.free[master], now)
	}
}

// Due returns when the contender should try again, jitter aside, if no news comes:
// when the keys on a majority of the masters are gone.
func (c *Contender) Due() clock.Instant {
	if len(c.free) == 0 {
		return c.since
	}
	byTime := slices.Clone(c.free)
	slices.Sort(byTime)
	due := byTime[Majority(len(byTime))-1]
	if c.failed > 0 { // whatever became free: it takes masters that say nothing, or may not vote
		return c.tried.Add(min(minRetry<<min(c.failed-1, 10), maxRetry))
	}
	return min(due, c.tried.Add(maxSleep))
}

// Jitter returns how long to hold back once it is time to try, where chance is in
// [0, 1) and trip is how long an attempt takes. All who wait for a lock learn of its end
// at once; whoever comes first by more than a message takes gets it, and the others find
// it taken, instead of splitting the votes. Older waiters hold back less, so that nobody
// starves; splits make all of them hold back more.
func (c *Contender) Jitter(chance float64, trip time.Duration, now clock.Instant) time.Duration {
	window := float64(trip) * math.Exp2(float64(min(c.splits, 6))+1)
	age := float64(now.Sub(c.since))
	return time.Duration(chance * window * float64(patience) / (float64(patience) + age))
}
