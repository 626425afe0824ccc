package failover_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// What must hold when the third of five masters forgets that A has the lock on the first
// three: B, which can have the last three, must not get it.

const leaseTTL = 3 * time.Second // and the MaxTTL

// five are masters, each behind a front of its own, which clients take for its address.
type five struct {
	*testing.T
	servers []*redistest.Master
	fronts  []*proxy.Proxy
	stale   *redistest.Master // has all that the third had before A came
	before  int64             // length of the third's append-only file then
	guarded bool
	last    error // of the client that did not enter
}

// noDelay has a copy begin at once.
var noDelay = redistest.Args("--repl-diskless-sync-delay", "0")

func newFive(t *testing.T, guarded bool) *five {
	t.Helper()
	f := &five{T: t, guarded: guarded}
	f.servers = redistest.Start(t, 5, redistest.AOF("always"), redistest.WallClock(t), noDelay)
	for _, s := range f.servers {
		f.fronts = append(f.fronts, proxy.Start(t, s.Addr()))
	}
	f.stale = redistest.Start(t, 1, noDelay)[0]
	f.stale.Follow(f.servers[2]) // before Init: the first replica changes a master's identity
	if guarded {
		require.NoError(t, f.client(redlock.Options{}).Init(t.Context()))
	}
	f.stale.Promote(f.servers[2])
	f.before = f.servers[2].Written()
	return f
}

// client returns one with a list of masters, which is that of the fronts if it is empty.
func (f *five) client(o redlock.Options) *redlock.Client {
	f.Helper()
	if o.Masters == nil {
		o.Masters = redistest.Addrs(f.fronts)
	}
	o.MaxTTL, o.Unguarded = leaseTTL, !f.guarded
	c, err := redlock.New(o)
	require.NoError(f, err)
	f.Cleanup(func() { _ = c.Close() })
	return c
}

// holder returns a lease that a client has on the first three masters alone.
func (f *five) holder(c *redlock.Client) *redlock.Lease {
	f.Helper()
	for _, s := range f.servers[3:] {
		require.NoError(f, s.Client().Set(f.Context(), name, "somebody", 0).Err())
	}
	lease, err := c.TryLock(f.Context(), name, leaseTTL)
	require.NoError(f, err)
	for _, s := range f.servers[:3] {
		require.Equal(f, lease.Token(), s.Client().Get(f.Context(), name).Val())
	}
	// A master answers in order: by then it has refused, also where nobody waited for that.
	_, err = c.Inspect(f.Context(), name)
	require.NoError(f, err)
	for _, s := range f.servers[3:] {
		require.NoError(f, s.Client().Del(f.Context(), name).Err())
	}
	return lease
}

// enters reports whether a client gets the lock while the lease lasts.
func (f *five) enters(c *redlock.Client, lease *redlock.Lease) bool {
	f.Helper()
	for lease.Valid() {
		theirs, err := c.TryLock(f.Context(), name, leaseTTL)
		if err == nil && lease.Valid() {
			return true
		}
		f.last = err
		_ = theirs.Release(f.Context())
		time.Sleep(5 * time.Millisecond) // for other goroutines' sake
	}
	return false
}

// tokens returns whose the name is on each master.
func (f *five) tokens() (all []string) {
	for _, s := range f.servers {
		all = append(all, s.Client().Get(f.Context(), name).Val())
	}
	return all
}

// forgets are the ways to forget. Those in which textbook Redlock lets B in prove that the
// fault was one.
var forgets = []struct {
	name     string
	do       func(f *five)
	textbook bool // lets B in
}{
	{"restarts empty", func(f *five) { f.servers[2].RestartCut(0) }, true},
	{"restarts from a file that ends before A's key", func(f *five) { f.servers[2].RestartCut(f.before) }, true},
	{"is flushed", func(f *five) { f.servers[2].FlushAll() }, true},
	{"is replaced, behind its address, by a replica that lacks the key", func(f *five) {
		f.fronts[2].Lead(f.stale.Addr())
		f.servers[2].Kill() // and all connections with it
	}, true},
	{"is demoted under that replica and promoted again", func(f *five) {
		f.servers[2].Follow(f.stale)
		f.servers[2].Promote(f.stale)
	}, true},
	{"steps its clock by an hour", func(f *five) { f.servers[2].StepClock(time.Hour) }, true},
	{"evicts the key", func(f *five) {
		// Eviction is asked about once a second. Memory does not run out at once.
		require.NoError(f, f.servers[2].Client().ConfigSet(f.Context(), "maxmemory-policy", "volatile-lru").Err())
		require.NoError(f, f.servers[2].Client().ConfigSet(f.Context(), "maxmemory", "1gb").Err())
		time.Sleep(1200 * time.Millisecond)
		f.servers[2].Evict(name)
	}, false}, // refused without the guard too
}

func TestNobodyEntersWhenAMasterForgets(t *testing.T) {
	for _, forget := range forgets {
		for _, arrival := range []string{"B was there before", "B comes after"} {
			for _, guarded := range []bool{true, false} {
				title := forget.name + ", " + arrival
				if !guarded {
					title += ", without the guard"
				}
				t.Run(title, func(t *testing.T) {
					t.Parallel()
					f := newFive(t, guarded)
					a, b := f.client(redlock.Options{}), f.client(redlock.Options{})
					lease, err := b.Lock(t.Context(), "another", leaseTTL)
					require.NoError(t, err)
					require.NoError(t, lease.Release(t.Context()))
					lease = f.holder(a)
					forget.do(f)
					if arrival == "B comes after" {
						b = f.client(redlock.Options{})
					}
					require.True(t, lease.Valid(), "the machine is too slow for a ttl of %v", leaseTTL)
					assert.Equal(t, forget.textbook && !guarded, f.enters(b, lease), "A has %s, on 1 to 5: %v; B: %v", lease.Token(), f.tokens(), f.last)
				})
			}
		}
	}
}

// One master under two of the five addresses has one vote, with the guard and without.
func TestNobodyEntersThroughTwoAddressesOfOneMaster(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		f := newFive(t, guarded)
		lease := f.holder(f.client(redlock.Options{}))
		list := redistest.Addrs(f.fronts)
		list[0] = proxy.Start(t, f.servers[4].Addr()).Addr()
		assert.False(t, f.enters(f.client(redlock.Options{Masters: list}), lease))
	}
}

// An address leads to another master for a while, say by a wrong entry in DNS. That master
// must not be taken from its own seat for it.
func TestAnAddressThatLeadsToAnotherMaster_CostsThatNothing(t *testing.T) {
	f := newFive(t, true)
	f.fronts[0].Lead(f.servers[4].Addr())
	c := f.client(redlock.Options{})
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		lease, err := c.Lock(t.Context(), name, leaseTTL)
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		c.Health(t.Context()) // looks after masters that have no vote
	}
	f.fronts[0].Lead(f.servers[0].Addr())
	f.fronts[0].Cut()
	assert.Equal(t, 5, voting(f.client(redlock.Options{})))
}

// The third is failed over while A still reaches the old one, and goes on extending there.
func TestFailoverWhileTheHolderReachesTheOldMaster(t *testing.T) {
	f := newFive(t, true)
	lease := f.holder(f.client(redlock.Options{}))
	f.fronts[2].Lead(f.stale.Addr())
	b := f.client(redlock.Options{})
	until := time.Now().Add(3 * leaseTTL)
	for time.Now().Before(until) {
		err := lease.Extend(t.Context())
		theirs, err2 := b.TryLock(t.Context(), name, leaseTTL)
		require.Error(t, err2, "B entered, and A's extension said: %v", err)
		require.NoError(t, theirs.Release(t.Context()))
		time.Sleep(20 * time.Millisecond)
	}
	assert.True(t, lease.Valid(), "the lease lives on, on other masters")
	assert.True(t, redistest.Poll(func() bool { return voting(b) == 5 }), "the replica has no vote by now")
}

func voting(c *redlock.Client) int {
	n := 0
	for _, h := range c.Health(context.Background()) {
		if h.Votes {
			n++
		}
	}
	return n
}

func cause(lease *redlock.Lease) error { return context.Cause(lease.Context()) }
