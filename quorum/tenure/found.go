package tenure

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// How all the masters become a new group: by agreement, where no majority has tenure, or
// because an operator says so.

// found takes all the masters one step closer to being a new group.
func (p *plan) found(operator bool) {
	if slices.ContainsFunc(p.view, func(r Reply) bool { return !r.Heard }) {
		p.standAll(Alone, 0)
		return
	}
	seats := p.seats(operator)
	if seats == nil {
		p.standAll(Empty, 0)
		return
	}
	if !p.dialAll() || !p.prepareAll() {
		p.standAll(Preparing, 0)
		return
	}
	group := p.digest(seats)
	if !p.pledgeAll(group) {
		p.standAll(Raising, 0)
		return
	}
	if left := p.leftOfPledges(); left > 0 && !operator {
		p.standAll(Waiting, left)
		return
	}
	p.standAll(Arming, 0)
	terms := make([]Term, len(p.view))
	for slot := range p.view {
		terms[seats[slot]-1] = Term{No: 1, Address: p.Addresses[slot]}
	}
	for slot := range p.view {
		p.armPledged(slot, group, seats[slot], terms)
	}
}

// standAll says of every master without tenure where it stands.
func (p *plan) standAll(s State, left time.Duration) {
	for slot, r := range p.view {
		if r.Heard && p.standings[slot].State != Votes {
			p.standings[slot] = Standing{State: s, Seat: r.Record.Seat, Left: left}
		}
	}
}

// seats returns each slot's seat in the group that is to be founded, or nil if nobody
// can tell: in the order of the list if the operator says so, or else as the masters
// agree.
func (p *plan) seats(operator bool) []int {
	seats := make([]int, len(p.view))
	for slot, r := range p.view {
		seats[slot] = r.Record.Seat
		if operator {
			seats[slot] = slot + 1
		}
	}
	if !operator && !slices.ContainsFunc(p.view, p.agreedBy) {
		return nil
	}
	return seats
}

// agreedBy reports whether all the masters were in r's group, or are pledged to it, and
// whether each has the seat that it says it has by all that any of them knows.
func (p *plan) agreedBy(r Reply) bool {
	for _, o := range p.view {
		c := o.Record.Charter
		c.Group = r.Record.Group
		if !o.Record.whole() || c != p.charter(c.Group) || c.Group != o.Record.Group && c.Group != o.Record.Pledge {
			return false
		}
	}
	for slot := range p.view {
		if !p.undisputed(slot) {
			return false
		}
	}
	return true
}

// undisputed reports whether the master at a slot has the seat that it says it has, at
// the client's address, by all that any of the masters knows, with tenure or not: nobody
// knows a later term than its own, but for the next one if that was raised for it.
//
// If not, it may be a master that has lost its seat to another: then the group lives, and
// the client only looks at the wrong masters.
func (p *plan) undisputed(slot int) bool {
	r := p.view[slot].Record
	for _, o := range p.view {
		t := o.Record.Terms[r.Seat-1]
		next := t.No == r.Term()+1 && t.Waiter == r.Prepared && r.prepared(p.view[slot].Process)
		if t.No > r.Term() && !next || t.No >= r.Term() && t.Address != p.Addresses[slot] {
			return false
		}
	}
	return true
}

// dialAll asks for new connections where they are not young, and reports whether all are.
func (p *plan) dialAll() bool {
	for slot := range p.view {
		p.dial(slot)
	}
	return len(p.sends) == 0
}

// prepareAll prepares every master that is not, and reports whether all are.
func (p *plan) prepareAll() bool {
	for slot, r := range p.view {
		if !r.Record.prepared(r.Process) {
			p.prepare(slot)
		}
	}
	return len(p.sends) == 0
}

// digest returns the name of the group that these very preparations found.
func (p *plan) digest(seats []int) string {
	nonces := make([]string, len(seats))
	for slot, seat := range seats {
		nonces[seat-1] = p.view[slot].Record.Prepared.Nonce
	}
	return Digest(nonces)
}

// Digest returns the name of the group that masters found which were prepared with these
// nonces, by seat. Nobody can be pledged to it unless all were.
func Digest(nonces []string) string {
	sum := sha256.Sum256([]byte(strings.Join(nonces, "\n")))
	return hex.EncodeToString(sum[:16])
}

// pledgeAll pledges every master to the group, and reports whether all are. Those that
// were pledged to another group are prepared again first: the preparations that the other
// group was to be founded on are not all there any more.
func (p *plan) pledgeAll(group string) bool {
	for slot, r := range p.view {
		if r.Record.Pledge != "" && r.Record.Pledge != group {
			p.prepare(slot)
		}
	}
	if len(p.sends) > 0 {
		return false
	}
	all := true
	for slot, r := range p.view {
		if r.Record.Pledge == "" || r.ahead(r.Record.Since) {
			p.send(slot, Pledge{Prepared: r.Record.Prepared, Group: group})
		}
		all = all && r.Record.Pledge == group
	}
	return all
}

// leftOfPledges returns how much of the wait is left until it is over on a majority.
func (p *plan) leftOfPledges() time.Duration {
	var left []time.Duration
	for _, r := range p.view {
		left = append(left, r.left(r.Record.Since))
	}
	slices.Sort(left)
	return max(left[p.majority()-1], 0)
}

// fulfil arms the masters that are pledged to the group which a member was armed in: so
// it was founded, and what it had to wait for is over. It reports whether there were any.
//
// What the others have learned since need not be read: a master that had no tenure was
// no part of it.
func (p *plan) fulfil() bool {
	if len(p.members) == 0 {
		return false
	}
	group := p.view[p.members[0]].Record.Group
	for slot, r := range p.view {
		if !r.Heard || !r.Dialled || !r.Record.prepared(r.Process) || r.Record.Pledge != group {
			continue
		}
		if seat := p.seatOf(slot); seat != 0 && p.latest(seat).No == 1 {
			p.standings[slot] = Standing{State: Arming, Seat: seat}
			p.armPledged(slot, group, seat, p.terms())
		}
	}
	return len(p.sends) > 0
}

func (p *plan) armPledged(slot int, group string, seat int, terms []Term) {
	p.send(slot, Arm{
		Prepared: p.view[slot].Record.Prepared,
		Pledge:   group,
		Charter:  p.charter(group),
		Seat:     seat,
		Terms:    terms,
		High:     max(p.high(), p.wall()),
		Skew:     p.view[slot].Skew,
	})
}
