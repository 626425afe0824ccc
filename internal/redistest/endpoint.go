package redistest

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Endpoint is what can be asked of a master, however it is run. The masters of this
// package and of package containers embed it.
type Endpoint struct {
	t      T
	addr   string
	client *redis.Client
}

// NewEndpoint returns the master that answers at addr. Its connections are closed when
// the test ends.
func NewEndpoint(t T, addr string) *Endpoint {
	e := &Endpoint{t: t, addr: addr, client: newClient(addr)}
	t.Cleanup(func() { _ = e.client.Close() })
	return e
}

// newClient returns a client that answers soon, also when the master is hung.
func newClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  addr,
		DialTimeout:           time.Second,
		DialerRetries:         1,
		ReadTimeout:           time.Second,
		ContextTimeoutEnabled: true,
	})
}

// Addr returns the master's address. It stays the same over restarts.
func (e *Endpoint) Addr() string { return e.addr }

// Client returns a connection to look at the master with. It is not to be closed.
func (e *Endpoint) Client() *redis.Client { return e.client }

// RunID returns the id of the running process, which changes with every restart.
func (e *Endpoint) RunID() string {
	e.t.Helper()
	info, err := e.client.Info(context.Background(), "server").Result()
	id := Field(info, "run_id")
	if err != nil || id == "" {
		e.t.Fatalf("master %s does not tell its run_id: %v", e.addr, err)
	}
	return id
}

// FlushAll makes the master forget every key, while it goes on running.
func (e *Endpoint) FlushAll() {
	e.t.Helper()
	var left *redis.IntCmd // of the same moment: others may be writing
	_, err := e.client.TxPipelined(context.Background(), func(p redis.Pipeliner) error {
		p.FlushAll(context.Background())
		left = p.DBSize(context.Background())
		return nil
	})
	if err != nil || left.Val() != 0 {
		e.t.Fatalf("master %s has %d keys after FLUSHALL (%v)", e.addr, left.Val(), err)
	}
}

// Answers waits until the master answers, and reports whether it did.
func (e *Endpoint) Answers() bool {
	return Poll(func() bool {
		return listens(e.addr) && e.client.Ping(context.Background()).Err() == nil
	})
}

// Refuses waits until nobody listens at the master's address, and reports whether that came.
func (e *Endpoint) Refuses() bool {
	return Poll(func() bool { return !listens(e.addr) })
}

func listens(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// Poll waits until done reports true, and reports false when that took too long.
func Poll(done func() bool) bool {
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return false
}

// FreePort returns a port of loopback that was free a moment ago. Whoever uses it
// must be ready to try another one.
func FreePort(t T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// Field returns the value of one line of INFO.
func Field(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
