package tenurecheck

import "github.com/quorumlock/redlock-go/quorum/tenure"

// lookSteps are those of a client that arms, while it looks at the masters one by one.
// It may be any client, with any list: nothing of it is kept from one look to the next.
func (m *model) lookSteps(s *state) {
	if s.view.open() {
		t := *s
		t.view = view{}
		t.end(look)
		m.say("the look is over, or its client has died")
		m.visit(&t)
		m.lookWith(s, int(s.view.list))
		return
	}
	for list := range m.arming() {
		m.lookWith(s, list)
	}
}

func (m *model) lookWith(s *state, list int) {
	for slot := range seats {
		if s.view.replies[slot].heard != 0 {
			continue
		}
		s.reached(m.addr(list, slot), func(p int) {
			t := *s
			t.view.list = uint8(list)
			t.view.replies[slot] = m.answer(s, p)
			m.say("a client with %s list looks at %s", listNames[list], m.name(s, p))
			m.visit(&t)
		})
	}
}

var listNames = [3]string{"the old", "the new", "the operator's"}

// answer is what process p says of itself.
func (m *model) answer(s *state, p int) reply {
	proc := &s.procs[p]
	return reply{heard: 1, id: proc.id, doubt: proc.doubt, old: 1 - proc.now, record: seen(proc.record)}
}

// replies decodes a view.
func (m *model) replies(v *view) []tenure.Reply {
	for slot := range v.replies {
		r := &v.replies[slot]
		m.view[slot] = tenure.Reply{}
		if r.heard == 0 {
			continue
		}
		m.view[slot] = tenure.Reply{
			Heard:   true,
			Process: letters[r.id],
			Time:    nowTime,
			Record:  m.groups.decode(&r.record, m.rooms[slot]),
			Accused: r.doubt != 0,
			Dialled: r.old == 0 || m.Cached,
		}
	}
	return m.view
}

// wholeLooks are a client's look and what follows, in one step, with what it sends
// executed at once or much later. Nothing is left out of what one may see, but for the
// change between its replies.
func (m *model) wholeLooks(s *state) {
	var list int
	var lookAt func(t *state, slot int)
	lookAt = func(t *state, slot int) {
		if slot == seats {
			m.decideSteps(t)
			return
		}
		s.reached(m.addr(list, slot), func(p int) {
			t.view.replies[slot] = m.answer(s, p)
			lookAt(t, slot+1)
		})
	}
	for list = range m.arming() {
		t := *s
		t.view.list = uint8(list)
		lookAt(&t, 0)
	}
}

// decideSteps send what follows from the look: now, or later.
func (m *model) decideSteps(s *state) {
	if !s.view.open() {
		return
	}
	for _, send := range m.decide(s, int(s.view.list)) {
		if send.Do == nil {
			continue
		}
		addr := m.addr(int(s.view.list), send.Slot)
		s.reached(addr, func(p int) {
			t := *s
			if !m.apply(&t, p, send.Do) {
				return
			}
			m.say("%s executes %s", m.name(s, p), m.describe(send.Do))
			m.seen(&t)
		})
		if m.Lates > 0 {
			m.delay(s, m.pack(addr, send.Do))
		}
	}
}

// seen visits a state after what follows from a look.
func (m *model) seen(t *state) {
	if !m.Torn {
		t.view = view{}
	}
	m.visit(t)
}

func (m *model) decide(s *state, list int) []tenure.Send {
	var used names
	used.none()
	s.nonces(m.groups, &used)
	sends, _ := m.lists[list].Next(m.replies(&s.view), letters[used.unused()])
	return sends
}

// apply has process p execute a transition, and reports whether it did anything.
func (m *model) apply(t *state, p int, do tenure.Transition) bool {
	proc := &t.procs[p]
	if pledge, ok := do.(tenure.Pledge); ok {
		m.groups.add(pledge.Group, m.usedByDigest())
	}
	was := proc.record
	d, ok := do.Apply(m.groups.decode(&was, m.rooms[seats]), letters[proc.id], nowTime)
	if !ok {
		return false
	}
	proc.record = m.groups.encode(d, &was, m.going(t))
	if m.Terms > 0 && proc.record.highest() > uint8(m.Terms) {
		return false
	}
	switch do.(type) {
	case tenure.Prepare:
		proc.doubt = 0
	}
	return true
}

func (r *record) highest() uint8 {
	var no uint8
	for i := range r.terms {
		no = max(no, r.terms[i].no)
	}
	return no
}
