package sim_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/quorumlock/redlock-go/internal/sim"
)

func TestStory(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	if err != nil {
		t.Skip()
	}
	r := sim.Run(sim.Config{Seed: seed, Tell: true})
	for _, s := range r.Story {
		t.Log(s)
	}
}
