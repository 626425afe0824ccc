//go:build unix && !aix && !solaris

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/quorumlock/redlock-go/clock"
)

func TestSignals_ReachTheCommandAndItsChildren(t *testing.T) {
	t.Parallel()
	for _, s := range append(slices.Clone(ending), unix.SIGWINCH) {
		name := unix.SignalName(s.(syscall.Signal))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, argv := newActor(t, "parent")
			p := start(t, nil, append([]string{"run", "--embedded", "job"}, argv...)...)
			a.ready()
			p.signal(s.(syscall.Signal))
			for _, who := range []*seenActor{a, a.child()} {
				eventually(t, func() bool { return slices.Equal(who.got(), []string{name}) }, "%s", name)
			}
			require.True(t, p.running())
			a.end()
			assert.Equal(t, 42, p.code())
			p.silent()
		})
	}
}

func TestSignalThatTheCommandDiesOf_IsItsExitCode(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	a, argv := newActor(t, "plain", "parent")
	p := redlockRun(t, addrs, append([]string{"job"}, argv...)...)
	a.ready()
	p.signal(unix.SIGTERM)
	assert.Equal(t, 128+15, p.code())
	p.says("signal 15")
	a.dead()
	a.child().dead()
	assertFree(t, addrs, "job")
}

func TestSignalWhileWaiting_EndsItAtOnceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range ending {
		number := int(s.(syscall.Signal))
		t.Run(unix.SignalName(s.(syscall.Signal)), func(t *testing.T) {
			t.Parallel()
			addrs := fiveEmbedded(t)
			lease := hold(t, addrs)
			file := inTemp(t, "end.json")
			p := redlockRun(t, addrs, "--json", file, "job", "--", "touch", file+".ran")
			eventually(t, func() bool { return strings.Contains(p.stderr(), "waiting") }, "the wait")
			p.signal(unix.SIGWINCH) // does not end it
			p.signal(s.(syscall.Signal))
			assert.Equal(t, 128+number, p.code())
			assert.Equal(t, 2, strings.Count(p.stderr(), "\n"), p.stderr())
			assert.Contains(t, p.stderr(), "came before the command was started")
			assert.Equal(t, interrupted, reported(t, file).Outcome)
			assert.NoFileExists(t, file+".ran")
			require.NoError(t, lease.Release(t.Context()))
			assertFree(t, addrs, "job")
		})
	}
}

func TestIgnoredHangup_StaysIgnored(t *testing.T) {
	t.Parallel()
	a, argv := newActor(t, "plain")
	argv = append([]string{"-c", `trap "" HUP; exec "$@"`, "sh", "redlock", "run", "--embedded", "job"}, argv...)
	p := start(t, func(c *exec.Cmd) {
		sh, err := exec.LookPath("sh")
		require.NoError(t, err)
		c.Path, c.Args = sh, append([]string{"sh"}, argv...)
	})
	a.ready()
	p.signal(unix.SIGHUP)
	require.NoError(t, unix.Kill(a.pid(), unix.SIGHUP))
	a.beats()
	a.end()
	assert.Equal(t, 42, p.code())
}

func TestWrapperKilled_TheCommandDiesToo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do this")
	}
	t.Parallel()
	a, argv := newActor(t, "stubborn")
	p := start(t, nil, append([]string{"run", "--embedded", "job"}, argv...)...)
	a.ready()
	a.beats()
	p.signal(unix.SIGKILL)
	assert.Equal(t, -1, p.code())
	pid := a.pid()
	eventually(t, func() bool { return deadOrZombie(pid) }, "the command's death")
}

// deadOrZombie reports whether a process that init is to wait for has ended.
func deadOrZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestStopAndContinue_WithinTheTTL(t *testing.T) {
	t.Parallel()
	a, argv := newActor(t, "parent")
	p := start(t, nil, append([]string{"run", "--embedded", "--ttl", "30s", "job"}, argv...)...)
	a.ready()
	p.signal(unix.SIGTSTP)
	eventually(t, func() bool { return isStopped(t, p.cmd.Process.Pid) && a.isStopped() && a.child().isStopped() }, "the stop")
	p.signal(unix.SIGCONT)
	a.beats()
	a.child().beats()
	a.end()
	assert.Equal(t, 42, p.code())
	p.silent()
}

func TestStoppedPastTheTTL_TheCommandIsNotContinued(t *testing.T) {
	t.Parallel()
	// One that were continued, and ended a moment later, would not always show it.
	for i := range 4 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			stoppedPastTheTTL(t)
		})
	}
}

func stoppedPastTheTTL(t *testing.T) {
	addrs := fiveEmbedded(t)
	a, argv := newActor(t, "parent")
	p := redlockRun(t, addrs, append([]string{"--ttl", "3s", "--kill-grace", "200ms", "job"}, argv...)...)
	a.ready()
	p.signal(unix.SIGTSTP)
	eventually(t, func() bool { return isStopped(t, p.cmd.Process.Pid) && a.isStopped() && a.child().isStopped() }, "the stop")
	pulse, child := a.pulse(), a.child().pulse()
	other, err := newClient(t, addrs).Lock(t.Context(), "job", 30*time.Second) // when the ttl has passed
	require.NoError(t, err)

	p.signal(unix.SIGCONT)
	assert.Equal(t, exitLost, p.code())
	p.says(`run "job"`, "the lock expired")
	assert.Equal(t, pulse, a.pulse(), "the command went on")
	assert.Equal(t, child, a.child().pulse(), "its child went on")
	a.dead()
	a.child().dead()
	assert.NoError(t, other.Release(t.Context()), "the release of the first took the second's lock")
}

// Nobody can notice that: the wrapper alone is stopped, and its command runs on. But
// the first thing that it does afterwards is to end it.
func TestWrapperAloneStoppedPastTheTTL_EndsTheCommandWhenItGoesOn(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	a, argv := newActor(t, "stubborn", "parent")
	p := redlockRun(t, addrs, append([]string{"--ttl", "3s", "--kill-grace", "200ms", "job"}, argv...)...)
	a.ready()
	p.signal(unix.SIGSTOP)
	eventually(t, func() bool { return isStopped(t, p.cmd.Process.Pid) }, "the stop")
	_, err := newClient(t, addrs).Lock(t.Context(), "job", 30*time.Second)
	require.NoError(t, err)

	p.signal(unix.SIGCONT)
	assert.Equal(t, exitLost, p.code())
	p.says("the lock expired")
	a.dead()
	a.child().dead()
}

func TestCommandStoppedByAnother_KeepsTheLock(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	a, argv := newActor(t)
	p := redlockRun(t, addrs, append([]string{"--ttl", "3s", "--kill-grace", "200ms", "job"}, argv...)...)
	a.ready()
	require.NoError(t, unix.Kill(a.pid(), unix.SIGSTOP))
	eventually(t, a.isStopped, "the stop")
	// Longer than the ttl and the grace: without extensions it would be free.
	past := clock.System.Now().Add(4 * time.Second)
	require.NoError(t, clock.Sleep(t.Context(), clock.System, past))
	_, err := newClient(t, addrs).TryLock(t.Context(), "job", 30*time.Second)
	require.Error(t, err)
	require.NoError(t, unix.Kill(a.pid(), unix.SIGCONT))
	a.beats()
	a.end()
	assert.Equal(t, 42, p.code())
	p.silent()
}
