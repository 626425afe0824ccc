package tenure_test

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

const (
	maxTTL    = 10 * time.Second
	tolerance = 100 * time.Millisecond
)

// master is one in memory: a process with a record and a clock.
type master struct {
	process string
	record  tenure.Record
	clock   time.Duration // ahead of the others
	down    bool
}

// world is some masters by address, and a time that only moves when told.
type world struct {
	now     time.Duration
	masters map[string]*master
	made    int // processes, nonces
}

func newWorld(addresses ...string) *world {
	w := &world{now: time.Hour, masters: map[string]*master{}}
	for _, a := range addresses {
		w.masters[a] = &master{}
		w.restart(a)
	}
	return w
}

func (w *world) fresh(what string) string {
	w.made++
	return fmt.Sprint(what, w.made)
}

// restart puts a new process in a master's place, with what it stored.
func (w *world) restart(address string) { w.masters[address].process = w.fresh("process") }

// forget restarts it empty.
func (w *world) forget(address string) {
	w.restart(address)
	w.masters[address].record = tenure.Record{}
}

func (w *world) instant() clock.Instant { return clock.Instant(w.now) }

func (w *world) time(m *master) tenure.Time { return tenure.Time((w.now + m.clock).Microseconds()) }

func (w *world) reply(address string) tenure.Reply {
	m := w.masters[address]
	if m.down {
		return tenure.Reply{}
	}
	return tenure.Reply{Heard: true, Process: m.process, Time: w.time(m), Record: m.record, Dialled: true}
}

// view asks all the masters of a list at once.
func (w *world) view(l tenure.List) []tenure.Reply {
	view := make([]tenure.Reply, len(l.Addresses))
	for i, a := range l.Addresses {
		view[i] = w.reply(a)
	}
	return view
}

func (w *world) do(l tenure.List, sends []tenure.Send) {
	for _, s := range sends {
		m := w.masters[l.Addresses[s.Slot]]
		m.record, _ = s.Do.Apply(m.record, m.process, w.time(m))
	}
}

// turn has a machine ask every master that it wants to hear, and does what it says.
func (w *world) turn(l tenure.List, m *tenure.Machine) (sent int) {
	for _, slot := range m.Due(w.instant()) {
		r := w.reply(l.Addresses[slot])
		if !r.Heard {
			m.Lost(slot)
			continue
		}
		sends := m.Heard(slot, r, w.instant(), w.instant(), w.fresh("nonce"))
		w.do(l, sends)
		sent += len(sends)
	}
	w.now += time.Millisecond
	return sent
}

// settle lets a machine go on until it sends nothing for a while.
func (w *world) settle(l tenure.List, m *tenure.Machine) {
	for quiet := 0; quiet < 3; quiet++ {
		if w.turn(l, m) > 0 {
			quiet = 0
		}
	}
}

func (w *world) votes(l tenure.List) int {
	return l.Count(w.view(l), func(int) bool { return true })
}

func list(addresses ...string) tenure.List {
	return tenure.List{Addresses: addresses, MaxTTL: maxTTL, Tolerance: tolerance}
}

// founded returns masters that an operator has made a group of.
func founded(addresses ...string) (*world, tenure.List) {
	w, l := newWorld(addresses...), list(addresses...)
	w.settle(l, tenure.NewInit(l))
	return w, l
}

// past is longer than any wait.
const past = 2 * maxTTL
