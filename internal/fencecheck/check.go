package fencecheck

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
)

// Result is what a run found.
type Result struct {
	States int
	Depth  int // steps of the longest of the shortest ways
	Whole  bool
	Took   time.Duration
	Broken string   // what does not hold; "" if everything does
	Trace  []string // a shortest way there
}

func (r Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d states, depth %d, %.1f s", r.States, r.Depth, r.Took.Seconds())
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

// way is how a state was first reached: by which step from which state before it.
type way struct{ from, step uint32 }

// Run explores every state of a configuration, breadth first, until something is broken.
func Run(c Config) Result {
	began := time.Now()
	m := &model{Config: c}
	seen := map[mark]struct{}{markOf(&state{}): {}}
	ways := []way{{}}
	level := []state{{}}
	var r Result
	for first := 0; len(level) > 0 && r.Broken == ""; r.Depth++ {
		var next []state
		for i := range level {
			step := uint32(0)
			m.yield = func(t *state, _ string, _ ...any) {
				u := canon(t)
				p := markOf(&u)
				if _, ok := seen[p]; !ok && r.Broken == "" {
					seen[p] = struct{}{}
					ways = append(ways, way{uint32(first + i), step})
					next = append(next, u)
					if m.bad != "" {
						r.Broken = m.bad
						r.Trace = trace(c, ways, len(ways)-1)
					}
				}
				step++
			}
			m.next(&level[i])
			if r.Broken != "" || c.Limit > 0 && len(ways) > c.Limit {
				r.States, r.Took = len(ways), time.Since(began)
				return r
			}
		}
		first += len(level)
		level = next
	}
	r.States, r.Whole, r.Took = len(ways), true, time.Since(began)
	return r
}

// mark stands for a state, in half the memory. Two of so many have the same one as good as
// never; then one of them is not explored.
type mark [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func markOf(s *state) mark {
	return mark{maphash.Comparable(seeds[0], *s), maphash.Comparable(seeds[1], *s)}
}

// trace tells the way to a state as a story. Masters may change their names on the way.
func trace(c Config, ways []way, n int) []string {
	var steps []uint32
	for ; n != 0; n = int(ways[n].from) {
		steps = append(steps, ways[n].step)
	}
	story := make([]string, 0, len(steps))
	m := &model{Config: c}
	var s state
	for i := len(steps) - 1; i >= 0; i-- {
		at := uint32(0)
		var after state
		m.yield = func(t *state, format string, args ...any) {
			if at == steps[i] {
				after = canon(t)
				story = append(story, fmt.Sprintf(format, args...))
			}
			at++
		}
		m.next(&s)
		s = after
	}
	return story
}

// canon returns the one of all states that differ from s by the masters' names only. (Where
// it can't tell two masters apart, it may leave two such states.)
func canon(s *state) state {
	order := [masters]int{0, 1, 2}
	var signs [masters][]byte
	for i := range order {
		signs[i] = s.sign(i)
	}
	slices.SortFunc(order[:], func(a, b int) int { return bytes.Compare(signs[a], signs[b]) })
	return s.renamed(order)
}

// sign returns all that a state has of one master.
func (s *state) sign(i int) []byte {
	m := &s.masters[i]
	sign := append(make([]byte, 0, 32), m.counter, m.floor, flags(m.forgot, m.raised), m.high, m.read&^bit(i))
	sign = append(sign, m.holder[:]...)
	for k := range s.attempts {
		a := &s.attempts[k]
		sign = append(sign, a.gave[i], a.given[i], a.late[i],
			flags(a.sent&bit(i) != 0, a.up&bit(i) != 0, a.has&bit(i) != 0, a.waits&bit(i) != 0))
	}
	return sign
}

func flags(all ...bool) (b uint8) {
	for i, set := range all {
		if set {
			b |= bit(i)
		}
	}
	return b
}

// renamed returns s with its masters in another order.
func (s *state) renamed(order [masters]int) state {
	t := *s
	for i, old := range order {
		t.masters[i] = s.masters[old]
		t.masters[i].read = bitsRenamed(s.masters[old].read, order)
	}
	for k := range t.attempts {
		a, b := &t.attempts[k], &s.attempts[k]
		for i, old := range order {
			a.gave[i], a.given[i], a.late[i] = b.gave[old], b.given[old], b.late[old]
		}
		a.sent, a.up, a.has = bitsRenamed(b.sent, order), bitsRenamed(b.up, order), bitsRenamed(b.has, order)
		a.waits = bitsRenamed(b.waits, order)
	}
	return t
}

func bitsRenamed(b uint8, order [masters]int) (r uint8) {
	for i, old := range order {
		if b&bit(old) != 0 {
			r |= bit(i)
		}
	}
	return r
}
