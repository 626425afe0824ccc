package sim_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/sim"
	"github.com/quorumlock/redlock-go/internal/unraced"
)

// seeds is how many each class runs here; `make sim` runs more.
const seeds = 5000

func run(t *testing.T, c sim.Config) {
	t.Helper()
	if unraced.Run(t) {
		return
	}
	s := sim.Batch(c, 0, seeds, runtime.GOMAXPROCS(0), nil)
	t.Logf("\n%v", &s)
	if s.First != nil {
		c.Seed = s.First.Seed
		r := sim.Shrink(c)
		t.Errorf("seed %d: %v", c.Seed, r.Tale())
	}
	for name, n := range s.Coverage(c.OutOfModel) {
		assert.Positive(t, n, "that never happened: %s", name)
	}
}

func TestInModel_LockExcludesAndFencesGrow(t *testing.T) { run(t, sim.Config{}) }

func TestOutOfModel_FencesGrow(t *testing.T) { run(t, sim.Config{OutOfModel: true}) }

// Whoever repeats a seed sees the very same.
func TestSameSeedSameRun(t *testing.T) {
	for seed := range uint64(1000) {
		c := sim.Config{Seed: seed}
		require.Equal(t, sim.Run(c).Hash, sim.Run(c).Hash, "seed %d", seed)
	}
}

func TestMutants(t *testing.T) {
	if unraced.Run(t) {
		return
	}
	for _, m := range sim.Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			s, found := m.Hunt(runtime.GOMAXPROCS(0))
			t.Log(s.ByCheck, s.Seeds)
			require.True(t, found, "it survives %d seeds: %v", s.Seeds, s.ByCheck)
		})
	}
}

// Seeds that fail without what they led to in the library: a master that is heard at a second
// address keeps its seat (tenure, rejoin).
func TestSeedsThatFoundSomething(t *testing.T) {
	for _, seed := range []uint64{1, 11, 15} {
		assert.Empty(t, sim.Run(sim.Config{Seed: seed}).Violations, "seed %d", seed)
	}
}

func TestShrink(t *testing.T) {
	c := sim.Config{Seed: 0, Rules: sim.Rules{HalfQuorum: true}}
	for len(sim.Run(c).Violations) == 0 {
		c.Seed++
	}
	r := sim.Shrink(c)
	require.NotEmpty(t, r.Violations)
	assert.True(t, slices.IsSortedFunc(r.Story, func(a, b string) int { return strings.Compare(a[:9], b[:9]) }), "the story goes back in time")
	assert.Contains(t, r.Tale(), r.Violations[0].Check)
}
