package quorum

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Hold is what the holder of a lock may rely on: until when, and what its extensions may
// do on which master. It is not safe for concurrent use.
type Hold struct {
	ttl   time.Duration
	drift clock.Drift

	deadline clock.Instant
	gone     clock.Instant
	tenures  []string // by voter: in which tenure it last granted; "" for none
}

// NewHold returns what the winner of a round of n voters, which it asked at start, may
// rely on.
func NewHold(n int, ttl time.Duration, drift clock.Drift, start clock.Instant) *Hold {
	h := &Hold{ttl: ttl, drift: drift, tenures: make([]string, n)}
	h.deadline = drift.Deadline(start, ttl)
	h.Asked(start)
	return h
}

// Deadline is when the holder must stop.
func (h *Hold) Deadline() clock.Instant { return h.deadline }

// Gone is when the keys have ended by themselves, on masters that got the requests in time.
func (h *Hold) Gone() clock.Instant { return h.gone }

// Left returns the validity: how long the hold can still be relied on.
func (h *Hold) Left(now clock.Instant) time.Duration { return max(0, h.deadline.Sub(now)) }

// Renewal returns when the hold should be extended: at a third of its ttl.
func (h *Hold) Renewal() clock.Instant {
	began := h.deadline.Add(h.drift.Of(h.ttl) - h.ttl)
	return began.Add(h.ttl / 3)
}

// Asked notes that the keys' time was asked for anew, at start.
func (h *Hold) Asked(start clock.Instant) {
	h.gone = max(h.gone, Gone(start, h.ttl, h.drift))
}

// Gone returns when keys that were asked for at start, for a lock of ttl, have ended by
// themselves.
func Gone(start clock.Instant, ttl time.Duration, drift clock.Drift) clock.Instant {
	return start.Add(ttl + drift.Of(ttl) + clock.Grace)
}

// Extended notes that an extension was won, which was asked for at start. That must have
// been, and it must have been won, before the deadline that was: else another may have
// had the lock meanwhile.
func (h *Hold) Extended(start clock.Instant) {
	h.deadline = max(h.deadline, h.drift.Deadline(start, h.ttl))
}

// Granted notes in which tenure a voter granted the lock, or its extension.
func (h *Hold) Granted(voter int, tenure string) { h.tenures[voter] = tenure }

// MayHaveLost reports whether an extension is to put back a voter's key if it is gone,
// where it has this tenure by now: only where it may have forgotten the key. Where it has
// the very tenure in which it granted, somebody has taken the key away.
func (h *Hold) MayHaveLost(voter int, tenure string) bool {
	return h.tenures[voter] == "" || h.tenures[voter] != tenure
}
