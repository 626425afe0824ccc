package sim_test

import (
	"testing"
	"time"

	"github.com/quorumlock/redlock-go/internal/sim"
)

func TestMutants(t *testing.T) {
	for _, m := range sim.Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			start := time.Now()
			s := sim.Batch(sim.Config{Rules: m.Rules}, 0, 3000, 2, false, nil)
			first := -1
			if s.First != nil {
				first = int(s.First.Seed)
			}
			t.Logf("%v first %d of %d in %v", s.ByCheck, first, s.Seeds, time.Since(start))
		})
	}
}
