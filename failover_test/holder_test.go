package failover_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/fence"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// What must hold when the holder dies, stands still, or acts too late.

// holderEnv has the test binary be a holder: it takes the lock, and does what each line of
// standard input says.
const holderEnv = "REDLOCK_HOLDER"

func holderMain() {
	config := os.Getenv(holderEnv)
	if config == "" {
		return
	}
	masters, resource, _ := strings.Cut(config, " ")
	c, err := redlock.New(redlock.Options{Masters: strings.Split(masters, ","), MaxTTL: soon, Fencing: true})
	if err != nil {
		panic(err)
	}
	lease, err := c.Lock(context.Background(), name, soon)
	if err != nil {
		panic(err)
	}
	fmt.Println("held")
	document := redis.NewClient(&redis.Options{Addr: resource})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "write":
			fmt.Println(write(document, lease.Fence(), "holder"))
		case "write unchecked":
			fmt.Println(document.Set(context.Background(), "doc", "holder", 0).Err())
		case "release":
			fmt.Println(lease.Release(context.Background()))
		}
	}
	os.Exit(0)
}

var fenced = redis.NewScript(fence.Redis)

// write writes to a resource that checks fences.
func write(document *redis.Client, no uint64, text string) error {
	return fenced.Run(context.Background(), document, []string{"doc", "doc:fence"}, no, "set", text).Err()
}

// process is a holder in a process of its own.
type process struct {
	*redistest.Process
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// holding starts a holder, and returns when it has the lock.
func holding(t *testing.T, masters []*redistest.Master, resource *redistest.Master) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderEnv+"="+strings.Join(redistest.Addrs(masters), ",")+" "+resource.Addr())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p, err := redistest.Spawn(cmd)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	h := &process{p, t, in, bufio.NewScanner(out)}
	require.Equal(t, "held", h.line())
	return h
}

func (h *process) line() string {
	h.t.Helper()
	require.True(h.t, h.out.Scan(), "the holder has ended")
	return h.out.Text()
}

// says has the holder do something, and returns what came of it.
func (h *process) says(what string) string {
	h.t.Helper()
	_, err := fmt.Fprintln(h.in, what)
	require.NoError(h.t, err)
	return h.line()
}

func TestHolderIsKilled_TheNextGetsIn(t *testing.T) {
	masters, resource := group(t, 5), redistest.Start(t, 1)[0]
	h := holding(t, masters, resource)
	c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters), Fencing: true})
	_, err := c.TryLock(t.Context(), name, soon)
	require.ErrorIs(t, err, redlock.ErrHeld)
	h.Kill()
	gets(t, c)
}

// A holder that stands still believes in its lock when it goes on. The resource does not.
func TestHolderStandsStillPastItsLease_TheResourceRefusesIt(t *testing.T) {
	masters, resource := group(t, 5), redistest.Start(t, 1)[0]
	h := holding(t, masters, resource)
	require.Equal(t, "<nil>", h.says("write"))
	require.NoError(t, h.Stop())
	c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters), Fencing: true})
	lease, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.NoError(t, write(resource.Client(), lease.Fence(), "next"))
	require.NoError(t, h.Cont())
	assert.Contains(t, h.says("write"), "STALEFENCE")
	assert.Equal(t, "next", resource.Client().Get(t.Context(), "doc").Val())
	assert.Contains(t, h.says("release"), "expired")
	require.NoError(t, lease.Release(t.Context()), "the late release took another's keys")

	h.says("write unchecked")
	assert.Equal(t, "holder", resource.Client().Get(t.Context(), "doc").Val(), "so it is without fences")
}

func TestHolderOverruns_ItsReleaseTakesNothing(t *testing.T) {
	masters := group(t, 5)
	list := redistest.Addrs(masters)
	lease, err := clientWith(t, redlock.Options{Masters: list}).Lock(t.Context(), name, soon)
	require.NoError(t, err)
	theirs, err := clientWith(t, redlock.Options{Masters: list}).Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.False(t, lease.Valid(), "two hold it")
	require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrExpired)
	before := keeping(masters, theirs)
	require.ErrorIs(t, lease.Release(t.Context()), redlock.ErrExpired)
	assert.Equal(t, before, keeping(masters, theirs))
	require.NoError(t, theirs.Release(t.Context()))
}

// The holder wrote in time. Its write is in the network for longer than its lease.
func TestWriteIsInTheNetworkForLongerThanTheLease_TheResourceRefusesIt(t *testing.T) {
	masters, resource := group(t, 5), redistest.Start(t, 1)[0]
	c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters), Fencing: true})
	network := proxy.Start(t, resource.Addr())
	slow := redis.NewClient(&redis.Options{Addr: network.Addr(), MaxRetries: -1, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = slow.Close() })
	first, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.NoError(t, write(slow, first.Fence(), "first"))
	network.Hold()
	late := make(chan error, 1)
	go func() { late <- write(slow, first.Fence(), "late") }()
	next, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.NoError(t, write(resource.Client(), next.Fence(), "next"))
	require.Positive(t, network.Held(), "no write was in the network")
	network.Resume()
	require.ErrorContains(t, <-late, "STALEFENCE")
	assert.Equal(t, "next", resource.Client().Get(t.Context(), "doc").Val())
}
