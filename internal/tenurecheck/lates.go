package tenurecheck

import "github.com/quorumlock/redlock-go/quorum/tenure"

// delay has a transition be under way, in the place of another one if need be: any may be
// lost. The places are in order, so that it does not matter which is which.
func (m *model) delay(s *state, l late) {
	for i := range m.Lates {
		if s.lates[i] == l {
			return
		}
	}
	for i := range m.Lates {
		t := *s
		t.lates[i] = l
		if m.Lates == 2 && bytes(&t.lates[0]) > bytes(&t.lates[1]) {
			t.lates[0], t.lates[1] = t.lates[1], t.lates[0]
		}
		m.say("to %s, late: %s", addrNames[l.addr], m.describe(m.unpack(&l)))
		m.seen(&t)
	}
}

// arrivals are what becomes of a transition that is under way. It may as well never arrive.
func (m *model) arrivals(s *state, i int) {
	do := m.unpack(&s.lates[i])
	s.reached(s.lates[i].addr, func(p int) {
		t := *s
		t.lates[i] = late{}
		if m.apply(&t, p, do) {
			m.say("late, %s executes %s", m.name(s, p), m.describe(do))
			m.visit(&t)
		}
	})
}

const (
	latePrepare = iota + 1
	lateRaise
	lateAwait
	latePledge
	lateArm
)

func (m *model) pack(addr uint8, do tenure.Transition) late {
	l := late{addr: addr}
	wait := func(p tenure.Preparation) { l.nonce, l.nonceID = number[p.Nonce], number[p.Process] }
	switch d := do.(type) {
	case tenure.Prepare:
		l.kind, l.id, l.fresh = latePrepare, number[d.Identity], number[d.Nonce]
		wait(d.Seen)
	case tenure.Raise:
		l.kind, l.group, l.seat, l.term, l.to = lateRaise, m.groups.numbers[d.Group], uint8(d.Seat), uint8(d.Term), addrNumber[d.Address]
		wait(d.Waiter)
	case tenure.Await:
		l.kind, l.group, l.seat, l.term = lateAwait, m.groups.numbers[d.Group], uint8(d.Seat), uint8(d.Term)
		wait(d.Waiter)
	case tenure.Pledge:
		m.groups.add(d.Group, m.usedByDigest())
		l.kind, l.pledge = latePledge, m.groups.numbers[d.Group]
		wait(d.Prepared)
	case tenure.Arm:
		l.kind, l.group, l.pledge, l.seat = lateArm, m.groups.numbers[d.Charter.Group], m.groups.numbers[d.Pledge], uint8(d.Seat)
		for i, t := range d.Terms {
			l.nos[i], l.addrs[i] = uint8(t.No), addrNumber[t.Address]
		}
		wait(d.Prepared)
	}
	return l
}

// usedByDigest returns the nonces of the replies decoded last.
func (m *model) usedByDigest() nonces {
	var of nonces
	for i := range m.view {
		of[i] = number[m.view[i].Record.Prepared.Nonce]
	}
	return of
}

func (m *model) unpack(l *late) tenure.Transition {
	p := preparation(l.nonce, l.nonceID)
	g := m.groups.name(l.group)
	switch l.kind {
	case latePrepare:
		return tenure.Prepare{Identity: letters[l.id], Seen: p, Nonce: letters[l.fresh]}
	case lateRaise:
		return tenure.Raise{Group: g, Seat: int(l.seat), Term: uint64(l.term), Address: addrNames[l.to], Waiter: p}
	case lateAwait:
		return tenure.Await{Group: g, Seat: int(l.seat), Term: uint64(l.term), Waiter: p}
	case latePledge:
		return tenure.Pledge{Prepared: p, Group: m.groups.name(l.pledge)}
	default:
		a := tenure.Arm{Prepared: p, Pledge: m.groups.name(l.pledge), Seat: int(l.seat)}
		a.Charter = tenure.Charter{Group: g, N: seats, MaxTTL: maxTTL, Tolerance: tolerance}
		for i := range l.nos {
			a.Terms = append(a.Terms, tenure.Term{No: uint64(l.nos[i]), Address: addrNames[l.addrs[i]]})
		}
		return a
	}
}
