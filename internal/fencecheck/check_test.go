package fencecheck_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/internal/fencecheck"
	"github.com/quorumlock/redlock-go/internal/unraced"
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

func TestFencesAreUniqueAndGrow(t *testing.T) {
	if unraced.Run(t) {
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
