package fencecheck

import "fmt"

// Bounds of a state.
const (
	masters  = 3
	maxTries = 4
	maxNames = 2
)

// Config bounds what is explored.
type Config struct {
	Attempts int     // at most maxTries; the odd ones are for the second name, if there is one
	Names    int     // that share one counter
	Faults   int     // masters that forget, one after another
	Hints    []uint8 // that a client may give
	Tails    bool    // what a master says of its tenure may come later than its number
	Late     bool    // commands may be executed when nobody waits for them any more
	Limit    int     // of states; 0 for none
	Rules    Rules
}

// master is one master. Its counter is shared by all names.
type master struct {
	holder  [maxNames]uint8 // attempt that has the key, from 1; 0 for nobody
	counter uint8
	floor   uint8
	forgot  bool // it has no tenure
	raised  bool // the others know that, and the wait has begun
	read    uint8
	high    uint8 // the greatest that was read there
}

// Phases of an attempt.
const (
	idle uint8 = iota
	asking
	counting
	done
	failed
)

// attempt is one client's attempt at a lock.
type attempt struct {
	phase uint8
	hint  uint8
	sent  uint8          // masters that have executed the request, by bit
	gave  [masters]uint8 // what was given, and waits for the tail
	given [masters]uint8 // what was heard, with a vote that counts
	late  [masters]uint8 // what was heard after the choice
	up    uint8          // masters that were asked to count up and have executed that
	has   uint8          // masters that are known to have counted up to the fence
	fence uint8
	least uint8 // the greatest fence of its name when it began
	waits uint8 // masters whose wait began while it was going on
}

func (a *attempt) goesOn() bool { return a.phase == asking || a.phase == counting }

// state is comparable: it is its own key.
type state struct {
	masters  [masters]master
	attempts [maxTries]attempt
	faults   uint8
	greatest [maxNames]uint8 // fence of each name
}

// model makes the steps of a state.
type model struct {
	Config
	yield func(s *state, format string, args ...any)
	bad   string // what does not hold in the state that was yielded last
}

func (m *model) name(k int) int { return k % m.Names }

// next yields every state that can follow s.
func (m *model) next(s *state) {
	for k := range m.Attempts {
		switch s.attempts[k].phase {
		case idle:
			m.begin(s, k)
		case asking:
			m.acquire(s, k)
			m.tail(s, k)
			m.choose(s, k)
			m.giveUp(s, k)
		case counting:
			m.acquire(s, k)
			m.tail(s, k)
			m.countUp(s, k)
			m.giveUp(s, k)
		default:
			if m.Late {
				m.acquire(s, k)
			}
		}
	}
	for i := range masters {
		m.expire(s, i)
		m.forget(s, i)
		m.recover(s, i)
	}
}

// begin lets an attempt begin. They begin in order: which is which makes no difference, but
// for the name.
func (m *model) begin(s *state, k int) {
	if k > 0 && s.attempts[k-1].phase == idle {
		return
	}
	for _, hint := range m.Hints {
		t := *s
		t.attempts[k] = attempt{phase: asking, hint: hint, least: s.greatest[m.name(k)]}
		m.yield(&t, "client %d asks for name %d, with hint %d", k+1, m.name(k)+1, hint)
	}
}

// acquire has a master execute the request of an attempt.
func (m *model) acquire(s *state, k int) {
	a := &s.attempts[k]
	for i := range masters {
		if a.sent&bit(i) != 0 {
			continue
		}
		at := &s.masters[i]
		t := *s
		t.attempts[k].sent |= bit(i)
		if at.holder[m.name(k)] != 0 {
			m.yield(&t, "master %d refuses client %d", i+1, k+1)
			continue
		}
		no := uint8(m.Rules.Give(uint64(at.floor), uint64(at.counter), uint64(a.hint)))
		t.masters[i].holder[m.name(k)], t.masters[i].counter = uint8(k+1), no
		m.yield(&t, "master %d grants client %d with %d, which does not hear of it in time", i+1, k+1, no)
		switch {
		case !m.heeds(a):
		case m.Tails:
			t.attempts[k].gave[i] = no
			m.yield(&t, "master %d grants client %d with %d; its tail is to come", i+1, k+1, no)
		default:
			m.hear(&t, k, i, no)
		}
	}
}

// heeds reports whether a grant that comes now has a part in the attempt.
func (m *model) heeds(a *attempt) bool {
	return a.phase == asking || a.phase == counting && m.Rules.LateGrants
}

// tail has a master say of its tenure what comes after its grant.
func (m *model) tail(s *state, k int) {
	for i := range masters {
		if no := s.attempts[k].gave[i]; no != 0 && m.heeds(&s.attempts[k]) {
			t := *s
			t.attempts[k].gave[i] = 0
			m.hear(&t, k, i, no)
		}
	}
}

// hear yields t, in which an attempt hears of a master's grant, if that counts.
func (m *model) hear(t *state, k, i int, no uint8) {
	at, a := &t.masters[i], &t.attempts[k]
	if at.forgot && !m.Rules.NeedNoTenure || !m.Rules.Covers(uint64(no), uint64(at.floor)) {
		return
	}
	if a.phase == asking {
		a.given[i] = no
	} else {
		a.late[i] = no
	}
	m.yield(t, "master %d grants client %d with %d", i+1, k+1, no)
}

// chosen returns the fence of an attempt, by what it heard.
func (m *model) chosen(a *attempt) Fence {
	given := make([]uint64, masters)
	for i := range masters {
		given[i] = uint64(a.given[i])
		if m.Rules.LateGrants {
			given[i] = max(given[i], min(uint64(a.late[i]), uint64(a.fence)))
		}
	}
	return m.Rules.Choose(given)
}

// choose has an attempt that a majority granted choose its fence.
func (m *model) choose(s *state, k int) {
	a := &s.attempts[k]
	grants := 0
	for _, no := range a.given {
		if no != 0 {
			grants++
		}
	}
	if 2*grants <= masters {
		return
	}
	f := m.chosen(a)
	t := *s
	c := &t.attempts[k]
	c.phase, c.fence = counting, uint8(f.No())
	for i := range masters {
		if f.Has(i) {
			c.has |= bit(i)
		}
	}
	m.settle(&t, k, "client %d chooses %d", k+1, f.No())
}

// settle yields t, in which the attempt is done if its fence is good.
func (m *model) settle(t *state, k int, format string, args ...any) {
	c := &t.attempts[k]
	if !m.Rules.Done(m.chosen(c), func(i int) bool { return c.has&bit(i) != 0 }) {
		m.yield(t, format, args...)
		return
	}
	for o := range m.Attempts {
		other := &t.attempts[o]
		if o != k && other.phase == done && other.fence == c.fence && m.name(o) == m.name(k) {
			m.bad = fmt.Sprintf("clients %d and %d have one fence, %d", o+1, k+1, c.fence)
		}
	}
	if c.fence <= c.least {
		m.bad = fmt.Sprintf("client %d has fence %d, and there was %d before it began", k+1, c.fence, c.least)
	}
	fence := c.fence
	n := m.name(k)
	t.greatest[n] = max(t.greatest[n], fence)
	*c = m.over(c, done)
	c.fence = fence
	m.yield(t, format+", and has the lock", args...)
	m.bad = ""
}

// countUp has a master execute that it should count up.
func (m *model) countUp(s *state, k int) {
	a := &s.attempts[k]
	f := m.chosen(a)
	for i := range masters {
		asks := f.Asks(i) || m.Rules.LateGrants && a.late[i] != 0 && a.has&bit(i) == 0
		if !asks || a.up&bit(i) != 0 {
			continue
		}
		at := &s.masters[i]
		counter, ok := m.Rules.CountUp(uint64(at.counter), uint64(a.fence), at.holder[m.name(k)] == uint8(k+1))
		t := *s
		t.attempts[k].up |= bit(i)
		t.masters[i].counter = uint8(counter)
		if ok {
			m.yield(&t, "master %d counts up to %d for client %d, which does not hear of it", i+1, a.fence, k+1)
		}
		if !ok || at.forgot && !m.Rules.NeedNoTenure {
			continue
		}
		t.attempts[k].has |= bit(i)
		m.settle(&t, k, "master %d counts up to %d for client %d", i+1, a.fence, k+1)
	}
}

func (m *model) giveUp(s *state, k int) {
	t := *s
	t.attempts[k] = m.over(&s.attempts[k], failed)
	m.yield(&t, "client %d gives up", k+1)
}

// over returns what is left of an attempt that has ended: no wait is for it any more.
func (m *model) over(a *attempt, phase uint8) attempt {
	left := attempt{phase: phase}
	if m.Late {
		left.sent, left.hint = a.sent, a.hint
	}
	return left
}

// expire ends a key. A release is no different.
func (m *model) expire(s *state, i int) {
	for n := range m.Names {
		if s.masters[i].holder[n] != 0 {
			t := *s
			t.masters[i].holder[n] = 0
			m.yield(&t, "a key ends at master %d", i+1)
		}
	}
}

// forget lets a master forget: all, or what it counted but for a part, or its keys alone.
func (m *model) forget(s *state, i int) {
	if int(s.faults) >= m.Faults || s.masters[i].forgot {
		return
	}
	for j := range masters {
		if s.masters[j].forgot {
			return // that would be a majority
		}
	}
	before := s.masters[i]
	for _, counter := range kept(before.counter) {
		t := *s
		t.faults++
		t.masters[i] = master{forgot: true, counter: counter}
		m.yield(&t, "master %d forgets, and has counted to %d", i+1, counter)
	}
}

// kept returns what may be left of a counter.
func kept(counter uint8) []uint8 {
	if counter < 2 {
		return []uint8{0, counter}[:1+counter]
	}
	return []uint8{0, counter - 1, counter}
}

// recover gives tenure back.
func (m *model) recover(s *state, i int) {
	at := &s.masters[i]
	switch {
	case !at.forgot:
	case !at.raised:
		t := *s
		t.masters[i].raised = true
		for k := range m.Attempts {
			if t.attempts[k].goesOn() {
				t.attempts[k].waits |= bit(i)
			}
		}
		m.yield(&t, "the others learn that master %d forgot", i+1)
	default:
		over := true
		for k := range m.Attempts {
			over = over && s.attempts[k].waits&bit(i) == 0
		}
		if over || m.Rules.ReadTooSoon {
			m.read(s, i)
		}
		if over {
			m.arm(s, i)
		}
	}
}

// read reads what one of the others has come to.
func (m *model) read(s *state, i int) {
	for j := range masters {
		if j == i || s.masters[j].forgot || s.masters[i].read&bit(j) != 0 {
			continue
		}
		t := *s
		t.masters[i].read |= bit(j)
		t.masters[i].high = max(t.masters[i].high, s.masters[j].counter, s.masters[j].floor)
		m.yield(&t, "master %d has come to %d", j+1, max(s.masters[j].counter, s.masters[j].floor))
	}
}

func (m *model) arm(s *state, i int) {
	at := &s.masters[i]
	need := masters/2 + 1
	if m.Rules.ReadOne {
		need = 1
	}
	if bits(at.read) < need {
		return
	}
	t := *s
	high := max(at.high, at.counter, at.floor)
	t.masters[i].floor = uint8(m.Rules.Arm(uint64(high)))
	t.masters[i].forgot, t.masters[i].raised, t.masters[i].read, t.masters[i].high = false, false, 0, 0
	m.yield(&t, "master %d has tenure again, and counts from %d", i+1, t.masters[i].floor)
}

func bit(i int) uint8 { return 1 << i }

func bits(b uint8) (n int) {
	for ; b != 0; b &= b - 1 {
		n++
	}
	return n
}
