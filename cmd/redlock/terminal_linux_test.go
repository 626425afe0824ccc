package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

// console is a terminal that a redlock runs in.
type console struct {
	*process
	keyboard *os.File
	shown    *os.File // what the screen has shown
}

// inTerminal starts argv as the foreground job of a terminal of its own.
func inTerminal(t *testing.T, argv ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer func() { _ = slave.Close() }()

	c := &console{keyboard: master, shown: output(t, "screen")}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			_, _ = c.shown.Write(buf[:n])
			if err != nil {
				return // the terminal is closed
			}
		}
	}()
	path, err := exec.LookPath(argv[0])
	require.NoError(t, err)
	c.process = start(t, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args = path, argv
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	})
	return c
}

func (c *console) shows(what string) {
	c.t.Helper()
	ok := redistest.Poll(func() bool { return strings.Contains(contents(c.shown.Name()), what) })
	require.True(c.t, ok, "the screen does not show %q, but:\n%s", what, contents(c.shown.Name()))
}

func (c *console) types(keys string) {
	c.t.Helper()
	_, err := c.keyboard.WriteString(keys)
	require.NoError(c.t, err)
}

func TestTerminal_IsTheCommandsAndComesBack(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "sh", "-c", "redlock run --embedded job -- actor terminal; echo then $?; actor terminal; exit 6")
	c.shows("terminal true, foreground true")
	c.types("first\n")
	c.shows(`read "first"`)
	c.shows("then 0")
	c.types("second\n")
	c.shows(`read "second"`)
	assert.Equal(t, 6, c.code())
	assert.Equal(t, 2, strings.Count(contents(c.shown.Name()), "terminal true, foreground true"), contents(c.shown.Name()))
}

func TestPipeline_LeavesTheTerminalToThePager(t *testing.T) {
	t.Parallel()
	a, argv := newActor(t)
	pager := `while [ ! -e "$0/ready" ]; do sleep 0.01; done; actor terminal </dev/tty; touch "$0/end"; cat`
	c := inTerminal(t, "sh", "-c", "redlock run --embedded job "+strings.Join(argv, " ")+" | { "+pager+"; }", a.dir)
	c.shows("terminal true, foreground true")
	c.types("key\n")
	c.shows(`read "key"`)
	assert.Equal(t, 0, c.code())
}

func TestCommandThatNeedsTheTerminalInAPipeline_GetsIt(t *testing.T) {
	t.Parallel()
	c := inTerminal(t, "sh", "-c", "redlock run --embedded job -- sh -c 'read x; echo got $x' | cat")
	c.types("line\n")
	c.shows("got line")
	assert.Equal(t, 0, c.code())
}

func TestCtrlC_EndsTheCommand(t *testing.T) {
	t.Parallel()
	a, argv := newActor(t, "plain", "parent")
	c := inTerminal(t, append([]string{"redlock", "run", "--embedded", "job"}, argv...)...)
	a.ready()
	c.types("\x03")
	assert.Equal(t, 128+2, c.code())
	a.dead()
	a.child().dead()
}

func TestCtrlZ_StopsBothAndTheyGoOn(t *testing.T) {
	t.Parallel()
	a, argv := newActor(t, "parent")
	c := inTerminal(t, append([]string{"redlock", "run", "--embedded", "--ttl", "30s", "job"}, argv...)...)
	a.ready()
	for range 2 { // the second time only if all is as it was
		c.types("\x1a")
		eventually(t, func() bool { return a.isStopped() && a.child().isStopped() && isStopped(t, c.cmd.Process.Pid) }, "the stop")
		c.signal(unix.SIGCONT)
		a.beats()
		a.child().beats()
	}
	a.end()
	assert.Equal(t, 42, c.code())
}

func TestUnlockByForce_AsksFirst(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	lease := hold(t, addrs)
	argv := []string{"redlock", "unlock", "--masters", strings.Join(addrs, ","), "job", "--force"}

	c := inTerminal(t, argv...)
	c.shows("[y/N]")
	c.types("\n")
	assert.Equal(t, exitNotHeld, c.code())
	c.shows("left as it is")
	require.NoError(t, lease.Extend(t.Context()), "it was not left")

	c = inTerminal(t, argv...)
	c.shows(lease.Token())
	c.shows("[y/N]")
	c.types("y\n")
	assert.Equal(t, exitOK, c.code())
	assertFree(t, addrs, "job")
}

func TestOperators_AreAskedFirst(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Start(t, 4))
	redlock := []string{"redlock", "--max-ttl", brief.String(), "--masters", strings.Join(addrs[:3], ",")}
	asked := func(answer string, args ...string) *console {
		c := inTerminal(t, append(redlock, args...)...)
		c.shows("Is that so? [y/N]")
		c.types(answer + "\n")
		return c
	}
	c := asked("", "init")
	assert.Equal(t, exitNotHeld, c.code())
	c.shows("left as they are")
	_, code := examined(t, addrs[:3])
	assert.Equal(t, exitUnsafe, code, "they were not left")
	c = asked("yes", "init", "--quiet")
	assert.Equal(t, exitOK, c.code())
	c.shows("No lock is held on these masters")
	c.shows("all 3 masters vote")
	c = inTerminal(t, append(redlock, "init")...)
	assert.Equal(t, exitOK, c.code(), "there is nothing to ask for")

	c = asked("n", "replace", addrs[2], addrs[3])
	assert.Equal(t, exitNotHeld, c.code())
	_, code = examined(t, addrs[:3])
	assert.Equal(t, exitOK, code, "they were not left")
	c = asked("y", "replace", addrs[2], addrs[3])
	assert.Equal(t, exitOK, c.code())
	c.shows(addrs[2] + " is out for good")
	c.shows(addrs[3] + " votes instead of")
}
