//go:build unix && !aix && !solaris

package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestFence_IsInTheEnvironment(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(initialised(t, 3))
	last := uint64(0)
	for range 3 {
		file := inTemp(t, "json")
		p := redlockRun(t, addrs, "--fence", "--json", file, "job", "--", "actor", "print", fenceVar)
		require.Equal(t, exitOK, p.code(), p.stderr())
		fence, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(p.stdout(), fenceVar+"=")), 10, 64)
		require.NoError(t, err, p.stdout())
		assert.Greater(t, fence, last)
		last = fence
		report, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(report), `"fence": `+strconv.FormatUint(fence, 10))
	}
}

// The fence of a lock around this one is not this one's.
func TestFence_IsNotInherited(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(initialised(t, 3))
	p := redlockRun(t, addrs, "--fence", "outer", "--",
		"redlock", "run", "--masters", strings.Join(addrs, ","), "inner", "--", "sh", "-c", "echo fence=$"+fenceVar)
	require.Equal(t, exitOK, p.code(), p.stderr())
	assert.Equal(t, "fence=\n", p.stdout())
}

func TestFence_NeedsTheGuard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		env  string
	}{
		{[]string{"run", "--embedded", "--fence", "job", "--", "true"}, ""},
		{[]string{"run", "--masters", "a:1,b:1,c:1", "--unguarded", "--fence", "job", "--", "true"}, ""},
		{[]string{"run", "--masters", "a:1,b:1,c:1", "--fence", "job", "--", "true"}, unguardedVar + "=1"},
	} {
		p := start(t, func(c *exec.Cmd) { c.Env = append(c.Env, tt.env) }, tt.args...)
		assert.Equal(t, exitUsage, p.code())
		p.says("--fence needs the guard")
	}
}
