package redlock

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// guardWith has the client count only the votes of masters that remember; see package guard.
func (c *Client) guardWith(addresses []string) {
	list := tenure.List{Addresses: addresses, MaxTTL: c.maxTTL, Tolerance: clock.Tolerance}
	c.guard = guard.New(list)
	c.keeper = newKeeper(c, list)
}

// countVotes counts the votes that were granted, by what the masters said with them. Where
// there is something wrong with one, the keeper looks after it.
func (c *Client) countVotes(tails []*guard.Tail, granted func(voter int) bool) int {
	n, all := c.guard.Count(tails, granted)
	if !all {
		c.keeper.wake()
	}
	return n
}

// confirm takes what the masters said in a round that was won: clocks that the others vouch
// for are trusted from now on, and those that drifted are to be written down.
func (c *Client) confirm(tails []*guard.Tail, now clock.Instant) {
	last := c.compared.Load()
	due := now.Sub(clock.Instant(last)) > time.Second && c.compared.CompareAndSwap(last, int64(now))
	for i, t := range tails {
		if due && guard.Drifted(tails, i) {
			c.keeper.wake()
		}
		if guard.Vouched(tails, i) {
			c.masters[i].Trust(t)
		}
	}
}

// advice says what is to be done about a master without tenure.
func advice(s tenure.Standing, tails []*guard.Tail) error {
	switch {
	case s.State == tenure.Waiting:
		return fmt.Errorf("%w: it votes again in %v", guard.ErrNoTenure, roundUp(s.Left))
	case s.State == tenure.Homeless:
		return fmt.Errorf("%w: no seat of the group has its address: if it replaces a master, say so (redlock replace)", ErrUnsafe)
	case s.State == tenure.Empty, s.State == tenure.Alone && neverFounded(tails):
		return fmt.Errorf("%w: too few of these masters know that they belong together: once no lock is held, initialise them (redlock init)", ErrUnsafe)
	case s.State == tenure.Alone:
		return fmt.Errorf("%w, as did most: all masters must answer before they vote again", guard.ErrNoTenure)
	default:
		return fmt.Errorf("%w: it is about to wait until that is over", guard.ErrNoTenure)
	}
}

// neverFounded reports whether a majority of the masters know of no group.
func neverFounded(tails []*guard.Tail) bool {
	blank := 0
	for _, t := range tails {
		if t != nil && t.Record.Group == "" {
			blank++
		}
	}
	return blank >= quorum.Majority(len(tails))
}

// errStoodStill is why all leases end when the masters' clocks have moved together.
var errStoodStill = fmt.Errorf("%w: this machine's clock stood still", ErrExpired)

// clockStoodStill drops all leases: their holders' clock does not tell when they end. What
// was known of the masters' clocks is worth nothing either.
func (c *Client) clockStoodStill() {
	for _, m := range c.masters {
		m.ForgetClock()
	}
	for _, h := range c.lines.all() {
		h.drop(errStoodStill)
	}
}
