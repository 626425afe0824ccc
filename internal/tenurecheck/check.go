package tenurecheck

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Result is what a run found.
type Result struct {
	States  int
	Settled int // different sets of masters that recovery was tried from
	Depth   int // steps of the longest of the shortest ways
	Whole   bool
	Took    time.Duration
	Broken  string   // what does not hold; "" if everything does
	Trace   []string // a shortest way there
}

func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d states, %d sets of masters, depth %d, %.1f s", r.States, r.Settled, r.Depth, r.Took.Seconds())
	if !r.Whole && r.Broken == "" {
		b.WriteString(", limit reached")
	}
	if r.Broken != "" {
		fmt.Fprintf(&b, "\n%s, after %d steps:", r.Broken, len(r.Trace))
		for i, step := range r.Trace {
			fmt.Fprintf(&b, "\n%3d. %s", i+1, step)
		}
	}
	return b.String()
}

// Run explores every state of a configuration, breadth first, until something is broken.
func Run(c Config) Result {
	x := &explorer{m: newModel(c), seen: newSet(), settled: newSet()}
	began := time.Now()
	r := x.run()
	r.States, r.Settled, r.Took = len(x.ways), x.settled.n, time.Since(began)
	return r
}

// way is how a state was first reached: the step of a state before it.
type way struct {
	from uint32
	step uint16
}

type explorer struct {
	m       *model
	seen    *set
	settled *set
	ways    []way
}

func (x *explorer) run() (r Result) {
	s := x.m.start()
	x.seen.add(s.key())
	x.ways = append(x.ways, way{})
	level := []state{s}
	for first, depth := 0, 0; len(level) > 0; depth++ {
		r.Depth = depth
		var next []state
		for i := range level {
			from, step := uint32(first+i), uint16(0)
			x.m.next(&level[i], func(t *state) {
				u := *t
				x.m.canon(&u)
				if x.seen.add(u.key()) {
					x.ways = append(x.ways, way{from, step})
					next = append(next, u)
				}
				step++
			})
			if r.Broken = x.broken(&level[i]); r.Broken != "" {
				r.Trace = x.trace(first + i)
				return r
			}
			if x.m.Limit > 0 && len(x.ways) > x.m.Limit {
				return r
			}
		}
		first += len(level)
		level = next
	}
	r.Whole = true
	return r
}

// trace tells the way to a state as a story. What led to each state is known up to
// canon. So it is also walked without canon, that names stay the same from step to step.
func (x *explorer) trace(n int) []string {
	var steps []uint16
	for ; n != 0; n = int(x.ways[n].from) {
		steps = append(steps, x.ways[n].step)
	}
	slices.Reverse(steps)
	x.m.tell = true
	canonical, told := x.m.start(), x.m.start()
	var story []string
	for _, step := range steps {
		var note string
		canonical, note = x.nth(canonical, step)
		if better, ok := x.same(&told, &canonical); ok {
			note = better
		} else {
			told = canonical // groups are named after nonces: from here on, other names
		}
		story = append(story, note)
	}
	return story
}

// nth takes a step.
func (x *explorer) nth(s state, step uint16) (after state, note string) {
	k := uint16(0)
	x.m.next(&s, func(t *state) {
		if k == step {
			after, note = *t, x.m.note
		}
		k++
	})
	x.m.canon(&after)
	return after, note
}

// same takes the step from s that leads to what is canonical but for the names.
func (x *explorer) same(s, canonical *state) (note string, ok bool) {
	var after state
	x.m.next(s, func(t *state) {
		u := *t
		x.m.canon(&u)
		if !ok && u == *canonical {
			after, note, ok = *t, x.m.note, true
		}
	})
	if ok {
		*s = after
	}
	return note, ok
}

// Properties. A state breaks one, or none.
const (
	Excludes = "two clients hold the lock"
	Waits    = "tenure without the wait"
	OneSeat  = "two masters of one seat can both be of a majority"
	Invites  = "a master has a seat that no operator gave it"
	Ends     = "recovery does not end"
	Recovers = "not all masters get tenure back"
	Rests    = "all have tenure, but a client still sends"
)

// broken returns which property a state breaks.
func (x *explorer) broken(s *state) string {
	m := x.m
	if m.checks(Excludes) && s.locks[0].phase >= holding && s.locks[1].phase >= holding {
		return Excludes
	}
	if m.checks(Waits) {
		if p := m.early(s); p >= 0 {
			return Waits + ": " + m.named(s, p)
		}
	}
	if m.checks(OneSeat) {
		if both := m.rivals(s); both != "" {
			return OneSeat + ": " + both
		}
	}
	if m.Uninvited && m.checks(Invites) {
		for p := range s.procs {
			if s.procs[p].addr == addresses && s.procs[p].tenured() {
				return Invites + ": " + m.named(s, p)
			}
		}
	}
	if m.Only != "" {
		return ""
	}
	t := s.settledNow()
	m.canon(&t)
	if x.settled.add(t.key()) {
		return m.recovers(&t)
	}
	return ""
}

func (m *model) checks(property string) bool { return m.Only == "" || m.Only == property }

// early returns a process that has tenure which it was armed in since it forgot, while
// something still goes on that went on when it forgot; -1 if none has. A fault marks lost;
// being armed in the identity that it has now is what gives tenure back.
func (m *model) early(s *state) int {
	for i := range s.procs {
		p := &s.procs[i]
		if p.alive != 0 && p.tenured() && p.record.nonce == 0 && p.lost&^marked != 0 {
			return i
		}
	}
	return -1
}

func (m *model) named(s *state, p int) string {
	defer func(was bool) { m.tell = was }(m.tell)
	m.tell = true
	return m.name(s, p)
}

// rivals tells of two masters of one seat that can both be of a majority now.
func (m *model) rivals(s *state) string {
	for a := range s.procs {
		for b := range a {
			p, q := &s.procs[a], &s.procs[b]
			if p.alive != 0 && q.alive != 0 && p.tenured() && q.tenured() &&
				p.record.seat == q.record.seat && m.electable(s, a) && m.electable(s, b) {
				return m.named(s, a) + " and " + m.named(s, b)
			}
		}
	}
	return ""
}

// electable reports whether some round could be won now with process p.
func (m *model) electable(s *state, p int) bool {
	for q := range s.procs {
		if s.procs[q].alive == 0 || s.procs[q].record.seat == s.procs[p].record.seat {
			continue
		}
		var v view
		v.replies[0], v.replies[1] = m.answer(s, p), m.answer(s, q)
		if m.lists[0].Count(m.replies(&v), func(slot int) bool { return m.view[slot].Heard }) == majority {
			return true
		}
	}
	return false
}

// settledNow returns the masters alone, when leases and looks are over and what is under
// way is lost.
func (s *state) settledNow() state {
	t := *s
	t.locks = [locks]lock{}
	t.view, t.lates, t.copied = view{}, [lates]late{}, copied{}
	t.end(^marked)
	for i := range t.procs {
		t.procs[i].key, t.procs[i].lost = 0, 0
	}
	return t
}

// recovers reports what goes wrong when faults stop and clients with one list go on
// looking and sending: it must come to an end, and with some list all masters must get
// tenure that can.
func (m *model) recovers(s *state) string {
	defer func(terms int) { m.Terms = terms }(m.Terms)
	m.Terms = 0
	must, well := false, false
	for list := 0; list == 0 || m.Moves && list < 2; list++ {
		must = must || m.mustRecover(s, list)
		t := *s
		if !m.settle(&t, list) {
			return Ends
		}
		if m.voters(&t, list) < seats {
			continue
		}
		well = true
		if wants := m.wants(&t); wants != "" {
			return wants
		}
	}
	if must && !well {
		return Recovers
	}
	return ""
}

// settle has a client look and send until it wants nothing more.
func (m *model) settle(s *state, list int) bool {
	for range 40 {
		m.lookAtAll(s, list)
		sends := m.decide(s, list)
		for _, send := range sends {
			if send.Do != nil {
				s.there(m.addr(list, send.Slot), func(p int) { m.apply(s, p, send.Do) })
			}
		}
		s.view = view{}
		s.end(^marked)
		if len(sends) == 0 {
			return true
		}
	}
	return false
}

// wants tells of a client that wants something where all masters have tenure. The
// operator is done when the seat has moved.
func (m *model) wants(s *state) string {
	for list := 0; list == 0 || m.Moves && list < 2; list++ {
		m.lookAtAll(s, list)
		if sends := m.decide(s, list); len(sends) > 0 {
			return fmt.Sprintf("%s: %T, with %s list", Rests, sends[0].Do, listNames[list])
		}
	}
	return ""
}

// voters returns how many masters of a list vote.
func (m *model) voters(s *state, list int) int {
	m.lookAtAll(s, list)
	defer func() { s.view = view{} }()
	return m.lists[list].Count(m.replies(&s.view), func(int) bool { return true })
}

// mustRecover reports whether all masters can be expected to get tenure: a majority has
// it, or all know where they belong and nobody knows better.
func (m *model) mustRecover(s *state, list int) bool {
	if m.voters(s, list) >= majority {
		return true
	}
	var masters []*process
	for slot := range seats {
		s.there(m.addr(list, slot), func(p int) { masters = append(masters, &s.procs[p]) })
	}
	var held uint8
	for _, p := range masters {
		r := &p.record
		if r.group == (group{}) || r.group != masters[0].record.group {
			return false
		}
		held |= 1 << r.seat
		for _, o := range masters {
			if o.record.terms[r.seat-1].no > r.terms[r.seat-1].no {
				return false
			}
		}
	}
	return held == 1<<1|1<<2|1<<3 && !m.Moves
}

func (m *model) lookAtAll(s *state, list int) {
	s.view = view{list: uint8(list)}
	for slot := range seats {
		s.there(m.addr(list, slot), func(p int) { s.view.replies[slot] = m.answer(s, p) })
	}
}

// there calls f with the process that a new connection to an address leads to.
func (s *state) there(addr uint8, f func(p int)) {
	for i := range s.procs {
		if s.procs[i].alive != 0 && s.procs[i].now != 0 && s.procs[i].addr == addr {
			f(i)
			return
		}
	}
}
