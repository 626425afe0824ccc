package tenure

import (
	"cmp"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Machine is one client's part in keeping the masters in tenure: it takes what the
// masters say and answers with what to send them. It keeps nothing but replies that are
// new enough, so it may be thrown away at any time. It is not safe for concurrent use.
//
// The driver reports every reply ([Machine.Heard]), sends what comes back in any order,
// and now and then asks the masters that [Machine.Due] names. It need not report whether
// a transition was done: the next reply shows it.
type Machine struct {
	list      List
	next      func(view []Reply, nonce string) ([]Send, []Standing)
	replies   []Reply
	asked     []clock.Instant // when each reply was asked for
	standings []Standing
}

// NewMachine returns a machine that keeps a list's masters in tenure.
func NewMachine(l List) *Machine { return newMachine(l, l.Next) }

// NewInit returns a machine that founds a group of a list's masters, once.
func NewInit(l List) *Machine { return newMachine(l, l.Init) }

func newMachine(l List, next func([]Reply, string) ([]Send, []Standing)) *Machine {
	n := len(l.Addresses)
	return &Machine{
		list:      l,
		next:      next,
		replies:   make([]Reply, n),
		asked:     make([]clock.Instant, n),
		standings: make([]Standing, n),
	}
}

// Heard takes the reply of the master at slot to a question sent at asked, and returns
// what to send. A reply that was asked for before the last send to that slot is of no use:
// it can't show what became of that.
func (m *Machine) Heard(slot int, r Reply, asked, now clock.Instant, nonce string) []Send {
	if asked.Before(m.asked[slot]) {
		return nil
	}
	m.replies[slot], m.asked[slot] = r, asked
	m.expire(now)
	sends, standings := m.next(m.replies, nonce)
	m.standings = standings
	for _, s := range sends {
		m.replies[s.Slot].Heard = false
		m.asked[s.Slot] = now
	}
	return sends
}

// Lost forgets what the master at slot said: it can't be reached.
func (m *Machine) Lost(slot int) {
	m.replies[slot].Heard = false
	m.standings[slot] = Standing{}
}

// Due returns the slots that should be asked now: those with no reply that may be acted on.
func (m *Machine) Due(now clock.Instant) []int {
	m.expire(now)
	var due []int
	for slot, r := range m.replies {
		if !r.Heard {
			due = append(due, slot)
		}
	}
	return due
}

// Standing returns where the master at slot stood when last heard.
func (m *Machine) Standing(slot int) Standing { return m.standings[slot] }

// Pause returns how long to wait before the masters are asked again, when nothing is left to
// be sent now; 0 if there is nothing to wait for.
func (m *Machine) Pause() time.Duration {
	const most = time.Second
	var pause time.Duration
	for _, s := range m.standings {
		switch s.State {
		case Waiting:
			pause = max(min(cmp.Or(pause, most), s.Left), 10*time.Millisecond)
		case Preparing, Raising, Arming:
			pause = cmp.Or(pause, most/10) // others are at it too
		default: // nothing that a client can do
		}
	}
	return pause
}

// expire forgets replies that are older than the window.
func (m *Machine) expire(now clock.Instant) {
	window := m.list.charter("").Window()
	for slot := range m.replies {
		if now.Sub(m.asked[slot]) >= window {
			m.replies[slot].Heard = false
		}
	}
}
