package redlock

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// tending is the driver of one tenure.Machine: it asks the masters, and sends them what
// the machine says. It is confined to one goroutine.
type tending struct {
	client  *Client
	machine *tenure.Machine
	tails   []*master.Tail // of the last turn; nil for who did not answer
	errs    []error        // of the last turn: why
	dial    []bool         // masters that must be asked over a new connection
}

func (c *Client) tend(m *tenure.Machine) *tending {
	n := len(c.masters)
	return &tending{client: c, machine: m, tails: make([]*master.Tail, n), errs: make([]error, n), dial: make([]bool, n)}
}

// turn asks every master, and sends what follows from that. It reports whether something
// came of it, so that more may follow at once.
func (t *tending) turn() (progress bool) {
	t.look()
	return t.act()
}

// act sends what follows from what the masters said.
func (t *tending) act() (progress bool) {
	if t.clockStoodStill() {
		t.client.clockStoodStill()
		return false
	}
	for i := range t.tails {
		t.machine.Lost(i) // what it said in the last turn is not worth mixing with this one
	}
	done, waits := make(chan master.Reply, len(t.tails)*(len(t.tails)+1)), 0
	for i, tail := range t.tails {
		if tail == nil {
			continue
		}
		reply := tail.Reply()
		reply.Accused, reply.Skew = t.accused(i), skew(t.tails, i)
		for _, s := range t.machine.Heard(i, reply, tail.Asked, t.client.clock.Now(), rand.Text()) {
			changes, dials := t.send(s, done)
			waits += changes
			progress = progress || dials > 0
		}
		if skew := reply.Skew; t.machine.Standing(i).State == tenure.Votes && drifted(t.tails, i) {
			changes, _ := t.send(tenure.Send{Slot: i, Do: tenure.Settle{Skew: skew}}, done)
			waits += changes // nothing follows from it
		}
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

// stepped counts the clocks that stepped forward, back, or not at all since they were
// watched.
func (t *tending) stepped() (forward, back, steady int) {
	for _, tail := range t.tails {
		switch {
		case tail == nil:
		case tail.Sight == quorum.Steady:
			steady++
		case tail.Sight == quorum.Stepped && tail.Step > 0:
			forward++
		case tail.Sight == quorum.Stepped:
			back++
		}
	}
	return forward, back, steady
}

// clockStoodStill reports whether so many clocks stepped in one direction that it must
// have been the client's own, in a machine that was stopped with all its clocks.
func (t *tending) clockStoodStill() bool {
	forward, back, _ := t.stepped()
	return max(forward, back) >= quorum.Majority(len(t.tails))
}

// accused reports whether a master's clock provably stepped while those of a majority
// did not.
func (t *tending) accused(i int) bool {
	_, _, steady := t.stepped()
	return t.tails[i].Sight == quorum.Stepped && steady >= quorum.Majority(len(t.tails))
}

// median returns the middle of the clocks' offsets.
func median(tails []*master.Tail) time.Duration {
	var all []time.Duration
	for _, tail := range tails {
		if tail != nil {
			all = append(all, tail.Offset.Middle())
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// skew returns how far a master's clock is ahead of the time that the group has kept: the
// middle of what the clocks of those with tenure say, each but for its own skew. So it
// makes no difference who is away.
func skew(tails []*master.Tail, i int) time.Duration {
	var kept []time.Duration
	for _, t := range tails {
		if t != nil && t.Tenure() != "" {
			kept = append(kept, t.Offset.Less(t.Record.Skew).Middle())
		}
	}
	now := median(tails)
	if len(kept) > 0 {
		slices.Sort(kept)
		now = kept[len(kept)/2]
	}
	return (tails[i].Offset.Middle() - now).Truncate(time.Microsecond)
}

// drifted reports whether a clock, which was watched for long enough to know that it did
// not step, has drifted so far from the others' that who sees it for the first time
// should be told.
func drifted(tails []*master.Tail, i int) bool {
	for _, t := range tails {
		if t != nil && !t.Whole {
			return false
		}
	}
	return (skew(tails, i) - tails[i].Record.Skew).Abs() > clock.Tolerance/5
}

// standings returns where each master stood in the last turn.
func (t *tending) standings() []tenure.Standing {
	all := make([]tenure.Standing, len(t.tails))
	for i := range all {
		all[i] = t.machine.Standing(i)
	}
	return all
}

// pause returns how long to wait for the next turn, when nothing is left to be sent; 0 if
// there is nothing to wait for.
func (t *tending) pause() time.Duration {
	const most = time.Second
	var pause time.Duration
	for _, s := range t.standings() {
		switch s.State {
		case tenure.Waiting:
			pause = max(min(cmp.Or(pause, most), s.Left), 10*time.Millisecond)
		case tenure.Preparing, tenure.Raising, tenure.Arming:
			pause = cmp.Or(pause, most/10) // others are at it too
		default: // nothing that a client can do
		}
	}
	return pause
}
