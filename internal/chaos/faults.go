package chaos

import (
	"time"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

// host is one master and its network.
type host struct {
	*redistest.Master
	no      int // from 1
	front   *proxy.Proxy
	term    uint64    // that it had its vote in last
	stepped uint64    // the term in which its clock was stepped: it is to get another
	fit     time.Time // for the next fault
}

// A fault breaks a master, shows that it is broken, and returns what mends it, which is to
// be called once: a master with a fault is one of the minority that may have one.
type fault struct {
	name string
	do   func(s *stage, m *host) (mend func())
}

func nothingToMend() {}

// faults are those that a run chooses from.
var faults = []fault{
	{"killed", func(_ *stage, m *host) func() {
		m.Kill()
		return m.Restart
	}},
	{"killed, and its disk is lost", func(_ *stage, m *host) func() {
		m.Kill()
		return m.RestartEmpty
	}},
	{"loses power, and the end of its file", func(s *stage, m *host) func() {
		if written := m.Written(); written > 0 {
			m.RestartCut(s.rng.Int64N(written))
		} else { // it was a copy of another a moment ago: nothing is in that file yet
			m.Restart()
		}
		return nothingToMend
	}},
	{"flushed", func(_ *stage, m *host) func() {
		m.FlushAll()
		return nothingToMend
	}},
	{"stopped", func(_ *stage, m *host) func() {
		m.Stop()
		return m.Cont
	}},
	{"replaced, behind its address, by a replica that lags", func(s *stage, m *host) func() {
		s.spare.Follow(m.Master)
		s.spare.Promote(m.Master)
		time.Sleep(s.upTo(s.MaxTTL))
		m.front.Lead(s.spare.Addr())
		m.Kill()
		m.front.Cut()
		return func() {
			m.Restart()
			m.front.Lead(m.Addr())
			m.front.Cut()
		}
	}},
	{"demoted, and promoted again", func(s *stage, m *host) func() {
		s.spare.FlushAll()
		m.Follow(s.spare)
		m.Promote(s.spare)
		return nothingToMend
	}},
	{"its clock steps ahead", func(s *stage, m *host) func() {
		m.stepped = m.term
		m.StepClock(time.Second + s.upTo(time.Hour))
		return nothingToMend
	}},
	{"its clock steps back", func(s *stage, m *host) func() {
		m.stepped = m.term
		m.StepClock(-time.Second - s.upTo(time.Hour))
		return nothingToMend
	}},
	{"its network holds back what is sent to it", func(_ *stage, m *host) func() {
		m.front.Hold()
		return m.front.Resume
	}},
	{"its network loses its replies", func(_ *stage, m *host) func() {
		m.front.LoseReplies()
		return m.front.Resume
	}},
	{"its network is slow", func(s *stage, m *host) func() {
		m.front.Delay(s.upTo(s.MaxTTL / 4))
		return m.front.Resume
	}},
	{"its connections are cut", func(_ *stage, m *host) func() {
		m.front.Cut()
		return nothingToMend
	}},
}

// FastClocks is a fault of all masters: their clocks run fast, by less than drift allows for.
const FastClocks = "all clocks run 0.8 % fast"

func (s *stage) runFast(d time.Duration) {
	const every = 25 * time.Millisecond
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(every) {
		for _, m := range s.masters {
			if !s.isBroken(m) {
				m.StepClock(every * 8 / 1000)
			}
		}
	}
}

// ForgetAll is no fault that a lock survives, unless it notices: all masters are flushed,
// again and again. It is for the check of the checks.
const ForgetAll = "all are flushed again and again"

func (s *stage) flushAll(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(s.upTo(100 * time.Millisecond)) {
		for _, m := range s.masters {
			m.FlushAll()
		}
	}
}
