package clock_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/quorumlock/redlock-go/clock"
)

func read(t *testing.T, id int32) clock.Instant {
	t.Helper()
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(id, &ts))
	return clock.Instant(ts.Nano())
}

func TestSystemIsBoottime(t *testing.T) {
	before := read(t, unix.CLOCK_BOOTTIME)
	now := clock.System.Now()
	assert.False(t, now.Before(before))
	assert.False(t, read(t, unix.CLOCK_BOOTTIME).Before(now))
}

const slept = "1000000" // seconds, by which a machine would have been asleep

// On a machine that never slept, CLOCK_BOOTTIME and CLOCK_MONOTONIC read the same. In a
// time namespace one can be set ahead without the other, as a suspend does. This test
// runs itself there.
func TestSystemCountsSuspend(t *testing.T) {
	if os.Getenv("REDLOCK_SLEPT") == slept {
		ahead := clock.System.Now().Sub(read(t, unix.CLOCK_MONOTONIC))
		require.Greater(t, ahead, 900_000*time.Second)
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	if out, err := exec.Command("unshare", "--time", "--boottime", slept, "true").CombinedOutput(); err != nil {
		why := "a time namespace needs root, Linux 5.6 and util-linux: " + err.Error() + ": " + string(out)
		if os.Getenv("CI") == "true" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	cmd := exec.Command("unshare", "--time", "--boottime", slept, self, "-test.run", "^TestSystemCountsSuspend$", "-test.v")
	cmd.Env = append(os.Environ(), "REDLOCK_SLEPT="+slept)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestSystemCountsSuspend")
}
