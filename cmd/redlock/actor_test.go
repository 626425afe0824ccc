//go:build unix && !aix && !solaris

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// An actor is what redlock runs in tests. It leaves its traces in a directory, and ends
// by itself should a test forget it.
//
//	actor print VAR...       prints variables of its environment
//	actor exit N             exits with N
//	actor cat                copies its input to its output
//	actor terminal           tells whether it has the terminal, and reads a line from it
//	actor live DIR TRAIT...  lives until the file DIR/end appears; then exits with 42
//
// Traits of one who lives: stubborn ones ignore what can be ignored; parents start a
// child of the same traits in DIR/child; leavers end with 3 when that child is ready.
func act(args []string) int {
	switch args[0] {
	case "print":
		for _, name := range args[1:] {
			fmt.Printf("%s=%s\n", name, os.Getenv(name))
		}
	case "exit":
		code, _ := strconv.Atoi(args[1])
		return code
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "terminal":
		return actTerminal()
	case "live":
		return newLife(args[1], args[2:]).live()
	}
	return 0
}

func actTerminal() int {
	t := openTerminal(os.Stdin)
	fmt.Printf("terminal %v, foreground %v\n", isTerminal(os.Stdin) && isTerminal(os.Stdout), t != nil && t.ours())
	var line string
	_, _ = fmt.Scanln(&line)
	fmt.Printf("read %q\n", line)
	return 0
}

// life is an actor that lives.
type life struct {
	dir    string
	traits []string
}

func newLife(dir string, traits []string) *life { return &life{dir, traits} }

func (l *life) is(trait string) bool { return strings.Contains(strings.Join(l.traits, " "), trait) }

func (l *life) live() int {
	signals := make(chan os.Signal, 64)
	switch {
	case l.is("stubborn"):
		signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	case l.is("plain"): // dies of signals as programs do
	default:
		signal.Notify(signals, append(ending, unix.SIGWINCH)...)
	}
	if l.is("parent") || l.is("leaver") {
		l.bear()
	}
	l.write("pid", strconv.Itoa(os.Getpid()))
	pulse, err := os.Create(filepath.Join(l.dir, "pulse"))
	if err != nil {
		return 1
	}
	beat := func() { _, _ = pulse.WriteAt(fmt.Appendf(nil, "%020d", clock.System.Now()), 0) }
	beat()
	l.write("ready", "")
	if l.is("leaver") {
		return 3
	}
	log := ""
	for limit := time.Now().Add(time.Minute); time.Now().Before(limit); {
		select {
		case s := <-signals:
			log += unix.SignalName(s.(syscall.Signal)) + "\n"
			l.write("signals", log)
		case <-time.After(2 * time.Millisecond):
		}
		beat() // it is alive at this instant
		if _, err := os.Stat(filepath.Join(l.dir, "end")); err == nil {
			return 42
		}
	}
	return 1
}

// bear starts the child, and waits until that is ready.
func (l *life) bear() {
	dir := filepath.Join(l.dir, "child")
	_ = os.Mkdir(dir, 0o700)
	traits := []string{}
	for _, trait := range l.traits {
		if trait != "parent" && trait != "leaver" {
			traits = append(traits, trait)
		}
	}
	child := exec.Command("actor", append([]string{"live", dir}, traits...)...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if child.Start() != nil {
		os.Exit(1)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *life) write(file, text string) {
	_ = os.WriteFile(filepath.Join(l.dir, file), []byte(text), 0o600)
}

// seenActor is an actor as a test sees it.
type seenActor struct {
	t   *testing.T
	dir string
}

// newActor returns an actor with a directory of its own, and the arguments that make
// redlock run it.
func newActor(t *testing.T, traits ...string) (*seenActor, []string) {
	t.Helper()
	a := &seenActor{t, t.TempDir()}
	t.Cleanup(a.end)
	return a, append([]string{"--", "actor", "live", a.dir}, traits...)
}

// child is the actor that a parent or leaver bore.
func (a *seenActor) child() *seenActor { return &seenActor{a.t, filepath.Join(a.dir, "child")} }

func (a *seenActor) file(name string) string { return filepath.Join(a.dir, name) }

func (a *seenActor) isReady() bool {
	_, err := os.Stat(a.file("ready"))
	return err == nil
}

// ready waits until the actor lives.
func (a *seenActor) ready() {
	a.t.Helper()
	eventually(a.t, a.isReady, "the actor's start")
}

// end lets the actor and its child end by themselves.
func (a *seenActor) end() {
	_ = os.WriteFile(a.file("child/end"), nil, 0o600) // there may be none
	require.NoError(a.t, os.WriteFile(a.file("end"), nil, 0o600))
}

func (a *seenActor) pid() int {
	a.t.Helper()
	pid, err := strconv.Atoi(contents(a.file("pid")))
	require.NoError(a.t, err)
	return pid
}

// dead checks that no such process is there.
func (a *seenActor) dead() {
	a.t.Helper()
	assert.ErrorIs(a.t, unix.Kill(a.pid(), 0), unix.ESRCH)
}

// pulse returns when the actor was last alive.
func (a *seenActor) pulse() clock.Instant {
	a.t.Helper()
	n, err := strconv.ParseInt(contents(a.file("pulse")), 10, 64)
	require.NoError(a.t, err)
	return clock.Instant(n)
}

// beats checks that the actor is running now.
func (a *seenActor) beats() {
	a.t.Helper()
	now := clock.System.Now()
	eventually(a.t, func() bool { return now.Before(a.pulse()) }, "another sign of life")
}

// got returns the signals that the actor got.
func (a *seenActor) got() []string { return strings.Fields(contents(a.file("signals"))) }

// isStopped reports whether the actor is stopped by a signal.
func (a *seenActor) isStopped() bool { return isStopped(a.t, a.pid()) }

// isStopped reports whether a process is stopped by a signal.
func isStopped(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil { // not Linux
		stat, err = exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	}
	require.NoError(t, err)
	state := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // after "pid (name)"
	return strings.HasPrefix(strings.TrimSpace(state), "T")
}
