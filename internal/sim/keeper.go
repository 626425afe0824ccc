package sim

import (
	"strconv"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// keeper keeps the masters in tenure: see keeper.go and tending.go of package redlock.
type keeper struct {
	c       *client
	machine *tenure.Machine
	tails   []*guard.Tail
	dial    []bool
	running bool
	looked  clock.Instant
}

func newKeeper(c *client) keeper {
	n := len(c.w.hosts)
	return keeper{c: c, machine: tenure.NewMachine(c.list), tails: make([]*guard.Tail, n), dial: make([]bool, n)}
}

// wake has the keeper look at the masters, if it has not of late.
func (k *keeper) wake() {
	if k.looked == 0 || k.c.now().Sub(k.looked) > time.Second {
		k.ask()
	}
}

// ask has it look now.
func (k *keeper) ask() {
	if !k.running {
		k.running = true
		k.turn()
	}
}

// turn asks every master who it is, and goes on when all have answered.
func (k *keeper) turn() {
	k.looked = k.c.now()
	missing := len(k.tails)
	for i, l := range k.c.links {
		r := request{op: look, dial: k.dial[i]}
		k.dial[i] = k.dial[i] && k.machine.Standing(i).State != tenure.Votes
		l.send(r, func(r reply) {
			k.tails[i] = r.tail
			if missing--; missing == 0 {
				k.act()
			}
		})
	}
}

// act sends what follows from what the masters said.
func (k *keeper) act() {
	if guard.StoodStill(k.tails) {
		k.c.w.result.Counters.StoodStill++
		k.c.stoodStill()
		k.rest()
		return
	}
	sends := guard.Tend(k.machine, k.tails, k.c.now(), func() string { return strconv.FormatUint(k.c.w.id(), 36) })
	progress, missing := false, 1
	done := func(granted bool) {
		progress = progress || granted
		if missing--; missing > 0 {
			return
		}
		if progress {
			k.turn()
		} else {
			k.rest()
		}
	}
	for _, s := range sends {
		switch {
		case s.Do == nil:
			progress = progress || !k.dial[s.Slot]
			k.dial[s.Slot] = true
		case k.tails[s.Slot] != nil:
			missing++
			k.c.w.result.Counters.Changes++
			k.c.links[s.Slot].send(request{op: change, seen: k.tails[s.Slot], do: s.Do}, func(r reply) {
				done(r.answer == quorum.Granted)
			})
		}
	}
	done(false)
}

// rest pauses, while there is something to wait for.
func (k *keeper) rest() {
	pause := k.machine.Pause()
	if pause == 0 {
		k.running = false
		return
	}
	k.c.later(pause, k.turn)
}

// stoodStill drops what rests on the client's clock.
func (c *client) stoodStill() {
	for _, w := range c.watches {
		w.Forget()
	}
	if h := c.worker.hold; h != nil {
		h.dropped = true
	}
}
