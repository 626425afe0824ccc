//go:build unix && !aix && !solaris

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/embedded"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// The test binary is also the two programs that the tests run as real processes: it
// is redlock, or an actor that redlock runs, when it is called so.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "redlock":
		main()
	case "actor":
		os.Exit(act(os.Args[1:]))
	}
	// Where the tests run under nohup, what they start would ignore SIGHUP too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(withPrograms(m))
}

func withPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redlock-test-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"redlock", "actor"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			panic(err)
		}
	}
	for _, v := range []string{mastersVar, unguardedVar, nameVar, tokenVar, ttlVar, heldVar} {
		_ = os.Unsetenv(v) // the tests may themselves run under redlock
	}
	_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	_ = flag.Set("test.parallel", "6") // unless asked for otherwise: most of these tests wait
	return m.Run()
}

// process is a redlock that runs. Its output goes to files, so that nobody who holds
// a pipe open keeps a test waiting.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
}

// start starts redlock with args, after prepare has changed how.
func start(t *testing.T, prepare func(*exec.Cmd), args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command("redlock", args...), done: make(chan struct{})}
	p.cmd.Env = os.Environ()
	if unguarded(t) {
		p.cmd.Env = append(p.cmd.Env, unguardedVar+"=1")
	}
	p.cmd.Stdout, p.cmd.Stderr = output(t, "out"), output(t, "err")
	if prepare != nil {
		prepare(p.cmd)
	}
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended, unless the test failed
		<-p.done
	})
	return p
}

// output returns a file that is closed here once the test ends.
func output(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(inTemp(t, name))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// redlockRun starts redlock run on the masters at addrs.
func redlockRun(t *testing.T, addrs []string, args ...string) *process {
	t.Helper()
	return start(t, nil, append([]string{"run", "--masters", strings.Join(addrs, ",")}, args...)...)
}

// code waits for the end, and returns the exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(redistest.Patience):
		p.t.Fatalf("redlock does not end; it said: %s", p.stderr())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

func (p *process) stdout() string { return contents(p.cmd.Stdout.(*os.File).Name()) }

func (p *process) stderr() string { return contents(p.cmd.Stderr.(*os.File).Name()) }

// silent checks that nothing was said.
func (p *process) silent() {
	p.t.Helper()
	assert.Empty(p.t, p.stderr())
}

// says checks that exactly one line was said, and what is in it.
func (p *process) says(parts ...string) {
	p.t.Helper()
	said := p.stderr()
	assert.Equal(p.t, 1, strings.Count(said, "\n"), "not one line: %q", said)
	assert.True(p.t, strings.HasPrefix(said, "redlock: "), said)
	for _, part := range parts {
		assert.Contains(p.t, said, part)
	}
}

// contents returns a file's text; "" if there is no file.
func contents(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// eventually waits until done reports true.
func eventually(t *testing.T, done func() bool, what string, args ...any) {
	t.Helper()
	require.True(t, redistest.Poll(done), "never came: "+fmt.Sprintf(what, args...))
}

// inMemory are the tests, by name, whose masters are in memory. These go without the guard.
var inMemory sync.Map

// unguarded reports whether the masters of a test, or of the one it is part of, are in memory.
func unguarded(t *testing.T) bool {
	for name := t.Name(); ; {
		if _, ok := inMemory.Load(name); ok {
			return true
		}
		i := strings.LastIndex(name, "/")
		if i < 0 {
			return false
		}
		name = name[:i]
	}
}

// fiveEmbedded are five masters inside the test, for what needs no fault.
func fiveEmbedded(t *testing.T) []string {
	t.Helper()
	inMemory.Store(t.Name(), true)
	m, err := embedded.Start(5)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m.Addrs()
}

// initialised are n real masters that are a group.
func initialised(t *testing.T, n int) []*redistest.Master {
	t.Helper()
	masters := redistest.Start(t, n)
	require.NoError(t, newClient(t, redistest.Addrs(masters)).Init(t.Context()))
	return masters
}

func newClient(t *testing.T, addrs []string) *redlock.Client {
	t.Helper()
	c, err := redlock.New(redlock.Options{Masters: addrs, Unguarded: unguarded(t)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// hold takes the lock "job", on all masters, for as long as a test can last.
func hold(t *testing.T, addrs []string) *redlock.Lease {
	t.Helper()
	c := newClient(t, addrs)
	lease, err := c.TryLock(t.Context(), "job", 30*time.Second)
	require.NoError(t, err)
	eventually(t, func() bool {
		holdings, err := c.Inspect(t.Context(), "job")
		return err == nil && !slices.ContainsFunc(holdings, func(h redlock.Holding) bool { return h.Token != lease.Token() })
	}, "the lock on all masters") // a majority is enough for TryLock
	return lease
}

// assertFree checks that nothing of a lock is left on any master.
func assertFree(t *testing.T, addrs []string, name string) {
	t.Helper()
	c := newClient(t, addrs)
	var holdings []redlock.Holding
	free := redistest.Poll(func() bool { // the last masters get their release a moment later
		var err error
		holdings, err = c.Inspect(context.WithoutCancel(t.Context()), name)
		return err == nil && len(seen(holdings)) == 0
	})
	assert.True(t, free, "not free: %+v", holdings)
}

// inTemp returns the path of a file that does not exist yet.
func inTemp(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(t.TempDir(), name)
}
