package redistest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

const victimEnv = "REDISTEST_VICTIM"

// TestVictim is the test binary that gets killed. By itself it does nothing.
func TestVictim(t *testing.T) {
	if os.Getenv(victimEnv) == "" {
		t.Skip("part of TestKilledTestBinaryLeavesNoServers")
	}
	masters := redistest.Start(t, 2)
	fmt.Printf("pids %d %d\n", masters[0].Pid(), masters[1].Pid())
	select {}
}

func TestKilledTestBinaryLeavesNoServers(t *testing.T) {
	redistest.Start(t, 1) // skips where there is no redis-server
	victim := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v=true")
	victim.Env = append(os.Environ(), victimEnv+"=1")
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) == 0 && lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "pids "); ok {
			pids = numbers(t, rest)
		}
	}
	for _, pid := range pids {
		assert.True(t, alive(pid))
	}

	require.NoError(t, victim.Process.Kill())
	_ = victim.Wait()
	require.Len(t, pids, 2)
	for _, pid := range pids {
		assert.True(t, redistest.Poll(func() bool { return !alive(pid) }), "redis-server %d lives on", pid)
	}
}

func numbers(t *testing.T, text string) []int {
	t.Helper()
	var all []int
	for _, s := range strings.Fields(text) {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		all = append(all, n)
	}
	return all
}

// alive reports whether a process runs. One that has ended, and is not waited for
// by whoever inherited it, does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
