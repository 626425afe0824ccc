package lab_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}

// The selection comes out as it is known to, locks that are wrong included.
func TestStage(t *testing.T) {
	needMasters(t)
	c := lab.Config{Designs: lab.Designs(), Seed: 1, Parallel: 3}
	for _, f := range lab.Faults() {
		if f.Short {
			c.Faults = append(c.Faults, f)
		}
	}
	for _, cell := range lab.Stage(t.Context(), c, func(*lab.Cell) {}) {
		assert.True(t, cell.Right(), "%v: %s", cell.ID(), cell.Sentence())
		if cell.Skipped != "" {
			assert.Empty(t, os.Getenv("CI"), "%v: %s", cell.ID(), cell.Skipped)
		}
	}
}

// What can be staged without redis-server is.
func TestStage_Inside(t *testing.T) {
	t.Parallel()
	f, _ := lab.FaultOf("late-set")
	c := lab.Config{Faults: []lab.Fault{f}, Designs: lab.Designs(), Seed: 1, Parallel: 2, Inside: true}
	for _, cell := range lab.Stage(t.Context(), c, func(*lab.Cell) {}) {
		assert.True(t, cell.Right(), "%v: %s", cell.ID(), cell.Sentence())
	}
}

func TestParseID(t *testing.T) {
	id, err := lab.ParseID("restart-empty/ours")
	require.NoError(t, err)
	assert.Equal(t, "restart-empty/ours", id.String())
	for _, bad := range []string{"", "restart-empty", "restart-empty/theirs", "ours/restart-empty", "restart-empty/ours/x"} {
		_, err := lab.ParseID(bad)
		assert.Error(t, err, bad)
	}
}
