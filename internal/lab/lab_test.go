package lab_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Main()
	os.Exit(m.Run())
}

func TestStage(t *testing.T) {
	c := lab.Config{Faults: lab.Faults(), Designs: lab.Designs(), Seed: 1, Parallel: 3}
	if id := os.Getenv("LAB"); id != "" {
		f, _ := lab.FaultOf(id)
		c.Faults = []lab.Fault{f}
	}
	for _, cell := range lab.Stage(t.Context(), c, func(c *lab.Cell) {
		if c.Expected == lab.None {
			return
		}
		var failed string
		if len(c.Runs) > 0 {
			failed = c.Runs[0].Failed
		}
		t.Log(c.Right(), c.ID(), c.Verdict, c.Measured, c.Skipped, failed)
		if !c.Right() && failed == "" {
			for _, m := range c.Runs[0].Evidence.Moments {
				t.Log("   ", m.At, m.Lane, m.Kind, m.Text)
			}
			for _, a := range c.Runs[0].Evidence.Asks {
				t.Logf("   %+v", a)
			}
		}
	}) {
		assert.True(t, cell.Right(), cell.ID())
	}
}
