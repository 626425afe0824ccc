package failover_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/internal/chaos"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/internal/redistest/containers"
	"github.com/quorumlock/redlock-go/redlock"
)

func TestMain(m *testing.M) {
	chaos.Main() // this test binary is the client processes, too
	holderMain()
	goleak.VerifyTestMain(m)
}

// master is one real master, however it is run.
type master interface {
	Addr() string
	Client() *redis.Client
	Kill()    // with SIGKILL
	Stop()    // it hangs
	Cont()    // and goes on
	Restart() // at the same address
}

// memory is what masters remember over a restart.
type memory bool

const (
	forgetful  memory = false // no persistence
	persistent memory = true  // appendonly yes, appendfsync always: what we recommend
)

// kinds are the ways to run masters.
var kinds = []struct {
	name  string
	start func(t *testing.T, n int, m memory) []master
}{
	{"processes", func(t *testing.T, n int, m memory) []master {
		if m == persistent {
			return asMasters(redistest.Start(t, n, redistest.AOF("always")))
		}
		return asMasters(redistest.Start(t, n))
	}},
	{"containers", func(t *testing.T, n int, m memory) []master {
		if m == persistent {
			return asMasters(containers.Start(t, n, containers.AOF("always")))
		}
		return asMasters(containers.Start(t, n))
	}},
}

func asMasters[M master](all []M) []master {
	masters := make([]master, len(all))
	for i, m := range all {
		masters[i] = m
	}
	return masters
}

// onFive runs a test on five masters of each kind.
func onFive(t *testing.T, m memory, test func(t *testing.T, masters []master)) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			masters := kind.start(t, 5, m)
			initialise(t, masters, redlock.DefaultMaxTTL)
			test(t, masters)
		})
	}
}

// initialise is an operator's word that no lock is held.
func initialise(t *testing.T, masters []master, maxTTL time.Duration) {
	t.Helper()
	c := clientOf(t, masters, maxTTL)
	require.NoError(t, c.Init(t.Context()))
}

// each does one thing to several masters.
func each(masters []master, do func(master)) {
	for _, m := range masters {
		do(m)
	}
}

// newClient returns a client that has found all masters. It shares nothing with other
// clients.
func newClient(t *testing.T, masters []master) *redlock.Client {
	t.Helper()
	c := clientOf(t, masters, redlock.DefaultMaxTTL)
	findsAll(t, c)
	return c
}

func clientOf(t *testing.T, masters []master, maxTTL time.Duration) *redlock.Client {
	t.Helper()
	c, err := redlock.New(redlock.Options{Masters: redistest.Addrs(masters), MaxTTL: maxTTL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
