package tenure

import (
	"cmp"
	"slices"
	"time"
)

// How one master gets tenure back while a majority has it.

// rejoin takes the master at a slot one step closer to tenure, with a majority that has it.
func (p *plan) rejoin(slot int) {
	r := p.view[slot]
	if !r.Heard || slices.Contains(p.members, slot) {
		return
	}
	if other := p.twice(slot); other >= 0 {
		p.standings[slot] = Standing{State: Preparing}
		if slices.Contains(p.members, other) {
			p.standings[slot] = p.standings[other]
		}
		return
	}
	seat := p.seatOf(slot)
	if seat == 0 {
		p.standings[slot] = Standing{State: Homeless}
		return
	}
	stand := func(s State, left time.Duration) { p.standings[slot] = Standing{State: s, Seat: seat, Left: left} }
	if !p.dial(slot) {
		stand(Preparing, 0)
		return
	}
	if !r.Record.prepared(r.Process) || r.Record.Pledge != "" {
		stand(Preparing, 0)
		p.prepare(slot)
		return
	}
	term, supporters := p.support(seat, r.Record.Prepared)
	if len(supporters) < p.majority() {
		stand(Raising, 0)
		p.raise(slot, seat, term)
		return
	}
	left := p.await(seat, supporters)
	if left > 0 {
		stand(Waiting, left)
		return
	}
	stand(Arming, 0)
	p.send(slot, Arm{
		Prepared: r.Record.Prepared,
		Charter:  p.view[p.members[0]].Record.Charter,
		Seat:     seat,
		Terms:    p.terms(),
		High:     p.high(),
		Skew:     r.Skew,
	})
}

// twice returns another slot at which the master at a slot is heard too; -1 for none. Then two
// addresses lead to it. It must not be taken from its seat for the other one's, and if it has
// none, nobody can tell which is its own.
func (p *plan) twice(slot int) int {
	for other, r := range p.view {
		if other != slot && r.Heard && r.Process == p.view[slot].Process {
			return other
		}
	}
	return -1
}

// seatOf returns the seat that the members know at the slot's address; 0 if none. What
// the master says of itself does not count: it may be empty, or of long ago.
func (p *plan) seatOf(slot int) int {
	at := func(address string) int {
		return 1 + slices.IndexFunc(p.terms(), func(t Term) bool { return t.Address == address })
	}
	seat := at(p.Addresses[slot])
	if seat == 0 && p.Move.To == p.Addresses[slot] {
		seat = at(p.Move.From)
	}
	return seat
}

// terms returns the latest that the members know of each seat, as one learns it from others.
func (p *plan) terms() []Term {
	terms := make([]Term, len(p.Addresses))
	for seat := range terms {
		t := p.latest(seat + 1)
		terms[seat] = Term{No: t.No, Address: t.Address}
	}
	return terms
}

// latest returns the latest term of a seat that any member knows.
func (p *plan) latest(seat int) Term {
	var latest Term
	for _, m := range p.members {
		if t := p.view[m].Record.Terms[seat-1]; compare(t, latest) > 0 {
			latest = t
		}
	}
	return latest
}

// compare orders what masters know of a seat. Two may have raised it to one term for two
// addresses, and neither has a majority: then all clients choose the same.
func compare(a, b Term) int {
	return cmp.Or(cmp.Compare(a.No, b.No), cmp.Compare(a.Address, b.Address))
}

// support returns the term that the seat is to have for the waiter, and the members
// that have it. That is the latest term if it is the waiter's, and can still be given a
// majority; or else one above.
func (p *plan) support(seat int, waiter Preparation) (term uint64, supporters []int) {
	term = p.latest(seat).No
	below := 0
	for _, m := range p.members {
		switch t := p.view[m].Record.Terms[seat-1]; {
		case t.No < term:
			below++
		case t.Waiter == waiter:
			supporters = append(supporters, m)
		}
	}
	if len(supporters) == 0 || len(supporters)+below < p.majority() {
		return term + 1, nil
	}
	return term, supporters
}

func (p *plan) raise(slot, seat int, term uint64) {
	for _, m := range p.members {
		if r := p.view[m].Record; r.Terms[seat-1].No < term {
			p.send(m, Raise{Group: r.Group, Seat: seat, Term: term, Address: p.Addresses[slot], Waiter: p.view[slot].Record.Prepared})
		}
	}
}

// await begins the wait on every supporter, and returns how much of it is left until
// it is over on a majority of masters.
func (p *plan) await(seat int, supporters []int) time.Duration {
	var left []time.Duration
	for _, s := range supporters {
		r := p.view[s]
		t := r.Record.Terms[seat-1]
		if t.Since == 0 || r.ahead(t.Since) {
			p.send(s, Await{Group: r.Record.Group, Seat: seat, Term: t.No, Waiter: t.Waiter})
			t.Since = r.Time
		}
		left = append(left, r.left(t.Since))
	}
	slices.Sort(left)
	return left[p.majority()-1]
}
