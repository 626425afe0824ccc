package redlock

import (
	"crypto/rand"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// tending is the driver of one tenure.Machine: it asks the masters, and sends them what
// the machine says. It is confined to one goroutine.
type tending struct {
	client  *Client
	machine *tenure.Machine
	tails   []*guard.Tail // of the last turn; nil for who did not answer
	errs    []error       // of the last turn: why
	dial    []bool        // masters that must be asked over a new connection
}

func (c *Client) tend(m *tenure.Machine) *tending {
	n := len(c.masters)
	return &tending{client: c, machine: m, tails: make([]*guard.Tail, n), errs: make([]error, n), dial: make([]bool, n)}
}

// turn asks every master, and sends what follows from that. It reports whether something
// came of it, so that more may follow at once.
func (t *tending) turn() (progress bool) {
	t.look()
	return t.act()
}

// act sends what follows from what the masters said.
func (t *tending) act() (progress bool) {
	if guard.StoodStill(t.tails) {
		t.client.clockStoodStill()
		return false
	}
	sends := guard.Tend(t.machine, t.tails, t.client.clock.Now(), rand.Text)
	done, waits := make(chan master.Reply, len(sends)), 0
	for _, s := range sends {
		changes, dials := t.send(s, done)
		waits += changes
		progress = progress || dials > 0
	}
	for range waits {
		r := <-done
		progress = progress || r.Answer == quorum.Granted
	}
	return progress
}

// look asks every master who it is.
func (t *tending) look() {
	now := t.client.clock.Now()
	replies := make(chan master.Reply, len(t.tails))
	for i, m := range t.client.masters {
		since := clock.Instant(0)
		if t.dial[i] {
			since = now
			t.dial[i] = t.machine.Standing(i).State != tenure.Votes // those will be asked for again
		}
		r := master.NewLook(since)
		r.Voter, r.To = i, replies
		m.Send(r)
	}
	for range t.client.masters {
		r := <-replies
		t.tails[r.Voter], t.errs[r.Voter] = r.Tail, r.Err
	}
}

// send sends a transition to the master whose last tail it is meant for.
func (t *tending) send(s tenure.Send, done chan<- master.Reply) (changes, dials int) {
	if s.Do == nil {
		if !t.dial[s.Slot] {
			t.dial[s.Slot], dials = true, 1
		}
		return 0, dials
	}
	r, ok := master.NewChange(t.tails[s.Slot], s.Do)
	if !ok {
		return 0, 0
	}
	r.To = done
	t.client.masters[s.Slot].Send(r)
	return 1, 0
}

// standings returns where each master stood in the last turn.
func (t *tending) standings() []tenure.Standing {
	all := make([]tenure.Standing, len(t.tails))
	for i := range all {
		all[i] = t.machine.Standing(i)
	}
	return all
}
