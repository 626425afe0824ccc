package fencecheck_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/internal/fencecheck"
	"github.com/quorumlock/redlock-go/internal/unraced"
)

// rule is quorum.Fence with another rule.
type rule struct {
	no   uint64
	has  func(voter int) bool
	asks func(voter int) bool
}

func (r rule) No() uint64         { return r.no }
func (r rule) Has(voter int) bool { return r.has(voter) }
func (r rule) Asks(v int) bool    { return r.asks(v) }

// choosing returns a rule of what the fence is; all else follows from that.
func choosing(no func(given []uint64) uint64) func(given []uint64) fencecheck.Fence {
	return func(given []uint64) fencecheck.Fence {
		n := no(given)
		return rule{n,
			func(v int) bool { return given[v] >= n && n > 0 },
			func(v int) bool { return given[v] > 0 && given[v] < n }}
	}
}

func sum(given []uint64) (n uint64) {
	for _, g := range given {
		n += g
	}
	return n
}

func least(given []uint64) (n uint64) {
	for _, g := range given {
		if g > 0 && (n == 0 || g < n) {
			n = g
		}
	}
	return n
}

// The check finds what is wrong, each with a shortest way there.
func TestMutants(t *testing.T) {
	if unraced.Run(t) {
		return
	}
	two := fencecheck.Config{Attempts: 2, Names: 1, Hints: []uint8{0}}
	three := fencecheck.Config{Attempts: 3, Names: 1, Hints: []uint8{0}}
	fault := fencecheck.Config{Attempts: 3, Names: 1, Faults: 1, Hints: []uint8{0}}
	hints := fencecheck.Config{Attempts: 3, Names: 1, Faults: 1, Hints: []uint8{0, 3}}
	tails := fencecheck.Config{Attempts: 2, Names: 1, Faults: 1, Tails: true, Hints: []uint8{0}}
	for _, tt := range []struct {
		name   string
		config fencecheck.Config
		mutate func(r *fencecheck.Rules)
		steps  int // of the shortest way
	}{
		{"a fence that one master knows is good", three, func(r *fencecheck.Rules) {
			r.Done = func(fencecheck.Fence, func(int) bool) bool { return true }
		}, 10},
		{"the sum of the numbers, which nobody counts up to", three, func(r *fencecheck.Rules) {
			r.Choose = choosing(sum)
			r.Done = func(fencecheck.Fence, func(int) bool) bool { return true }
		}, 10},
		{"the least of the numbers", three, func(r *fencecheck.Rules) { r.Choose = choosing(least) }, 9},
		{"half of the masters are enough", three, func(r *fencecheck.Rules) {
			r.Done = func(_ fencecheck.Fence, has func(int) bool) bool { return has(0) || has(1) || has(2) }
		}, 10},
		{"a grant that comes late has a part in it", three, func(r *fencecheck.Rules) { r.LateGrants = true }, 15},
		{"counting up without the lock", three, func(r *fencecheck.Rules) {
			r.CountUp = func(counter, fence uint64, _ bool) (uint64, bool) { return max(counter, fence), true }
		}, 12},
		{"a vote to count up that is not written down", three, func(r *fencecheck.Rules) {
			r.CountUp = func(counter, _ uint64, holds bool) (uint64, bool) { return counter, holds }
		}, 13},
		{"the same number again", two, func(r *fencecheck.Rules) {
			r.Give = func(floor, counter, hint uint64) uint64 { return max(floor, counter, hint, 1) }
		}, 9},
		{"the hint whatever was before", hints, func(r *fencecheck.Rules) {
			r.Give = func(floor, counter, hint uint64) uint64 {
				if hint > 0 {
					return hint
				}
				return max(floor, counter) + 1
			}
		}, 9},
		{"no floor, where an old counter is left", fault, func(r *fencecheck.Rules) {
			r.Covers = func(uint64, uint64) bool { return true }
			r.Give = func(_, counter, hint uint64) uint64 { return max(counter+1, hint) }
		}, 13},
		{"tenure is given with nothing read", fault, func(r *fencecheck.Rules) {
			r.Arm = func(uint64) uint64 { return 0 }
		}, 13},
		{"one other is read", fault, func(r *fencecheck.Rules) { r.ReadOne = true }, 12},
		{"the others are read before the wait is over", fault, func(r *fencecheck.Rules) { r.ReadTooSoon = true }, 13},
		{"a number from before the tenure counts", tails, func(r *fencecheck.Rules) {
			r.Covers = func(uint64, uint64) bool { return true }
		}, 17},
		{"masters that forgot have a vote", fault, func(r *fencecheck.Rules) { r.NeedNoTenure = true }, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.config
			c.Rules = fencecheck.Production()
			c.Limit = 10_000_000
			tt.mutate(&c.Rules)
			r := fencecheck.Run(c)
			t.Log(r)
			assert.NotEmpty(t, r.Broken, "it survives")
			assert.Len(t, r.Trace, tt.steps)
		})
	}
}
