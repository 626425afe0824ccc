package fencecheck_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/fencecheck"
)

// configs are what is explored whole, on every run. FENCECHECK_LONG adds what takes minutes.
func configs() map[string]fencecheck.Config {
	rules := fencecheck.Production()
	all := map[string]fencecheck.Config{
		"three attempts":                           {Attempts: 3, Names: 1, Hints: []uint8{0}, Rules: rules},
		"two attempts, hints, late, one fault":     {Attempts: 2, Names: 1, Faults: 1, Late: true, Hints: []uint8{0, 2}, Rules: rules},
		"two attempts, three faults":               {Attempts: 2, Names: 1, Faults: 3, Hints: []uint8{0}, Rules: rules},
		"two attempts, tails, a fault":             {Attempts: 2, Names: 1, Faults: 1, Tails: true, Hints: []uint8{0}, Rules: rules},
		"two attempts at two names, late, a fault": {Attempts: 2, Names: 2, Faults: 1, Late: true, Hints: []uint8{0}, Rules: rules},
	}
	if os.Getenv("FENCECHECK_LONG") != "" {
		all["two attempts, tails, hints, one fault"] = fencecheck.Config{Attempts: 2, Names: 1, Faults: 1, Tails: true, Hints: []uint8{0, 2}, Rules: rules}
		all["three attempts, late"] = fencecheck.Config{Attempts: 3, Names: 1, Late: true, Hints: []uint8{0}, Rules: rules}
		all["three attempts, one fault"] = fencecheck.Config{Attempts: 3, Names: 1, Faults: 1, Hints: []uint8{0}, Rules: rules}
		all["three attempts at two names, one fault"] = fencecheck.Config{Attempts: 3, Names: 2, Faults: 1, Hints: []uint8{0}, Rules: rules}
	}
	return all
}

// runChild runs the same test in a process that is built without the race detector: there
// is one goroutine, and with it the states of a minute take ten.
func runChild(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-timeout=20m", "-run=^"+t.Name()+"$", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	t.Log(string(out))
}

func TestFencesAreUniqueAndGrow(t *testing.T) {
	if raced {
		runChild(t)
		return
	}
	for name, c := range configs() {
		t.Run(name, func(t *testing.T) {
			r := fencecheck.Run(c)
			t.Log(r)
			assert.Empty(t, r.Broken)
			assert.True(t, r.Whole)
		})
	}
}
