package tenurecheck

import "github.com/quorumlock/redlock-go/quorum/tenure"

// lockSteps are those of a client that locks, extends and lets go, again and again.
//
// What only helps others is done at once: a won round is counted at once, keys of a lease
// that is over are gone at once, a round begins when its first SET is executed. What
// can only hinder is left out: refused and unusable votes, SETs that come after the
// round. So everything that can go wrong still can, in fewer states.
func (m *model) lockSteps(s *state, i int) {
	l := &s.locks[i]
	if l.phase != idle {
		t := *s
		t.over(i)
		m.say("client %d: its lease or attempt is over", i+1)
		m.visit(&t)
	}
	if l.phase == extending {
		t := *s
		t.unextend(i)
		m.say("client %d: gives up its extension", i+1)
		m.visit(&t)
	}
	if l.phase == holding && !m.Extends {
		return
	}
	for slot := range seats {
		if l.votes[slot].stage == 1 {
			m.tail(s, i, slot)
		}
		if l.votes[slot].stage == 0 {
			s.reached(m.addr(m.list(i), slot), func(p int) { m.set(s, i, slot, p) })
		}
	}
}

// set executes a client's SET NX, or extension with repair, at process p.
func (m *model) set(s *state, i, slot, p int) {
	proc := &s.procs[p]
	own := uint8(i + 1)
	if proc.key != 0 && proc.key&^extended != own || !m.Tails && !proc.tenured() {
		return
	}
	t := *s
	l := &t.locks[i]
	t.procs[p].key = own
	what := "SET NX"
	switch l.phase {
	case idle:
		l.phase = asking
	case holding, extending:
		l.phase = extending
		t.procs[p].key = own | extended
		what = "extension"
		if proc.key == 0 {
			what = "extension (repair)"
		}
	}
	l.votes[slot] = vote{stage: 1, proc: uint8(p)}
	if !m.Tails {
		m.readTail(&t, i, slot)
	}
	m.say("client %d: %s at %s", i+1, what, m.name(s, p))
	m.visit(&t)
}

// tail reads the tail of the batch that a granted vote was in.
func (m *model) tail(s *state, i, slot int) {
	p := int(s.locks[i].votes[slot].proc)
	if !s.procs[p].tenured() {
		return
	}
	t := *s
	m.readTail(&t, i, slot)
	m.say("client %d: tail of its batch at %s", i+1, m.name(s, p))
	m.visit(&t)
}

// readTail takes the tail of a vote that a master with tenure gave, and counts.
func (m *model) readTail(t *state, i, slot int) {
	l := &t.locks[i]
	v := &l.votes[slot]
	r := &t.procs[v.proc].record
	*v = vote{stage: 2, proc: v.proc, group: r.group, seat: r.seat}
	for j := range r.terms {
		v.terms[j] = r.terms[j].no
	}
	if m.count(t, i) < majority {
		return
	}
	if l.phase == extending {
		t.extend(i)
	}
	*l = lock{phase: holding}
}

// count has the pure code count the votes of a client's round.
func (m *model) count(t *state, i int) int {
	for slot, v := range t.locks[i].votes {
		m.view[slot] = tenure.Reply{}
		if v.stage != 2 {
			continue
		}
		r := record{group: v.group, seat: v.seat, id: v.proc + 1}
		for j := range r.terms {
			r.terms[j].no = v.terms[j]
		}
		m.view[slot] = tenure.Reply{Heard: true, Process: letters[r.id], Time: nowTime, Record: m.groups.decode(&r, m.rooms[slot])}
	}
	return m.lists[m.list(i)].Count(m.view, func(slot int) bool { return m.view[slot].Heard })
}

// over ends a client's lease or attempt: its keys go.
func (s *state) over(i int) {
	s.keys(i, func(uint8) uint8 { return 0 })
	s.locks[i] = lock{}
	s.end(base(i) | extension(i))
}

// extend makes the extension's round the lease: keys that were not extended go.
func (s *state) extend(i int) {
	own := uint8(i + 1)
	s.keys(i, func(k uint8) uint8 {
		if k&extended != 0 {
			return own
		}
		return 0
	})
	s.masks(func(x mask) mask {
		y := x &^ (base(i) | extension(i))
		if x&extension(i) != 0 {
			y |= base(i)
		}
		return y
	})
}

// unextend forgets an extension that was not won.
func (s *state) unextend(i int) {
	own := uint8(i + 1)
	s.keys(i, func(uint8) uint8 { return own })
	s.locks[i] = lock{phase: holding}
	s.end(extension(i))
}

// keys rewrites every key of a client.
func (s *state) keys(i int, f func(key uint8) uint8) {
	own := uint8(i + 1)
	for p := range s.procs {
		if k := s.procs[p].key; k&^extended == own {
			s.procs[p].key = f(k)
		}
	}
	if k := s.copied.key; k&^extended == own {
		s.copied.key = f(k)
	}
}
