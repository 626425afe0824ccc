// Package redistest runs real Redis masters for tests and for the lab, as redis-server
// processes of this machine, and breaks them.
//
//	masters := redistest.Start(t, 5)
//	client, err := redlock.New(redlock.Options{Masters: redistest.Addrs(masters)})
//	masters[0].Kill()
//
// A fault that can't be shown to have happened fails the test: a check of what
// survives a fault proves nothing if there was none. All methods may end the test, so
// call them from its goroutine. Each master is stopped when the test ends, by its
// process id, and by the kernel should the test binary be killed (on Linux). With
// goleak, check in TestMain, or in a Cleanup registered before Start.
//
// Without redis-server on PATH tests are skipped, and fail if the environment says
// CI=true. Package containers runs the same masters in Docker.
package redistest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Patience bounds every wait for a fault or a recovery to show. It is long because
// it is only used up by what fails anyway.
const Patience = 20 * time.Second

// T is what this package needs of a test. A [testing.TB] has it; the lab, which breaks
// masters for people to see, has its own.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Skip(args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
	TempDir() string
}

// Master is one redis-server process.
type Master struct {
	*Endpoint
	t         T
	path      string // of redis-server
	dir       string
	host      string // that it listens on
	port      string
	namespace string // of its own; "" for none
	args      []string
	env       []string
	clock     string        // file that says how far its wall clock is ahead; see WallClock
	ahead     time.Duration // what the file says
	process   *Process      // nil while it is killed
	run       string        // run_id of the latest process
}

// Option changes how masters are started.
type Option func(*Master)

// AOF makes masters remember their keys over a restart: each change is appended to a
// file, and fsync says how often that is forced to disk: "always", "everysec" or "no".
func AOF(fsync string) Option {
	return Args("--appendonly", "yes", "--appendfsync", fsync)
}

// Args are further arguments of redis-server, such as "--cluster-enabled", "yes".
func Args(args ...string) Option {
	return func(m *Master) { m.args = append(m.args, args...) }
}

// Start runs n independent masters, which answer when it returns. Unless options say
// otherwise they keep nothing on disk.
func Start(t T, n int, options ...Option) []*Master {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Unavailable(t, "redis-server is not on PATH: install it (Debian: redis-server, Homebrew: redis)")
	}
	masters := make([]*Master, n)
	for i := range masters {
		masters[i] = start(t, path, options)
	}
	return masters
}

// Unavailable skips the test because the machine lacks what it needs. It fails the
// test where CI=true: there, a test that does not run must not look like one that passed.
func Unavailable(t T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s (CI=true, so this is no reason to skip)", why)
	}
	t.Skip(why)
}

// Addrs returns the addresses of masters, of whatever kind.
func Addrs[M interface{ Addr() string }](masters []M) []string {
	addrs := make([]string, len(masters))
	for i, m := range masters {
		addrs[i] = m.Addr()
	}
	return addrs
}

func start(t T, path string, options []Option) *Master {
	t.Helper()
	m := &Master{t: t, path: path, dir: t.TempDir(), host: "127.0.0.1"}
	for _, o := range options {
		o(m)
	}
	// Another process can take the port between its choice and redis-server's start.
	for range 10 {
		m.port = FreePort(t)
		if m.launch() {
			m.Endpoint = NewEndpoint(t, net.JoinHostPort(m.host, m.port))
			t.Cleanup(m.end)
			return m
		}
	}
	t.Fatalf("redis-server does not start. The end of its log:\n%s", m.log())
	return nil
}

// launch runs the server and reports whether it answers. If not, it is gone.
func (m *Master) launch() bool {
	args := append([]string{
		"--port", m.port, "--bind", m.host, "--dir", m.dir, "--logfile", m.logfile(),
		"--save", "", "--appendonly", "no",
	}, m.args...)
	cmd := exec.Command(m.path, args...)
	if m.namespace != "" {
		cmd = exec.Command("ip", append([]string{"netns", "exec", m.namespace, m.path}, args...)...)
	}
	cmd.Env = append(os.Environ(), m.env...)
	p, err := Spawn(cmd)
	if err != nil {
		m.t.Fatalf("start redis-server: %v", err)
	}
	m.run = p.answers(net.JoinHostPort(m.host, m.port))
	if m.run == "" {
		p.Kill()
		return false
	}
	m.process = p
	return true
}

func (m *Master) logfile() string { return filepath.Join(m.dir, "redis.log") }

func (m *Master) log() string {
	text, err := os.ReadFile(m.logfile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// end is Kill for a master that may be gone already.
func (m *Master) end() {
	if m.process != nil {
		m.process.Kill()
	}
}
