// Package unraced runs tests without the race detector that have one goroutine and millions
// of steps: with it, what takes a minute takes ten.
package unraced

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Run runs the test that calls it in a process that is built without the race detector, if
// this one is built with it, and reports whether it did: then the caller has nothing left to
// do. A test that fails there fails here.
func Run(t *testing.T) bool {
	t.Helper()
	if !raced {
		return false
	}
	timeout := time.Duration(0) // none, as the parent has none
	if d, ok := t.Deadline(); ok {
		timeout = time.Until(d)
	}
	out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-vet=off", "-count=1", "-v",
		"-timeout="+timeout.String(), "-run=^"+t.Name()+"$", ".").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("without the race detector: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return true
}
