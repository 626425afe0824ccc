package redlock_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// fenced returns a client with fences, of masters that are a group, or are to be.
func fenced(t *testing.T, masters []string) *redlock.Client {
	t.Helper()
	return connectWith(t, redlock.Options{Masters: masters, MaxTTL: short, Fencing: true})
}

// nextFence takes name, lets go, and returns the fence that it had.
func nextFence(t *testing.T, c *redlock.Client, names ...string) uint64 {
	t.Helper()
	lease, err := c.LockAll(t.Context(), short, names...)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
	return lease.Fence()
}

func TestFencesGrow(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	last := uint64(0)
	grows := func(c *redlock.Client, names ...string) {
		t.Helper()
		next := nextFence(t, c, names...)
		require.Greater(t, next, last)
		last = next
	}
	for range 20 {
		grows(c, "a")
	}
	grows(fenced(t, redistest.Addrs(masters)), "a")
	grows(c, "b", "a")
	grows(c, "a")

	lease, err := c.TryLock(t.Context(), "a", short)
	require.NoError(t, err)
	before := lease.Fence()
	require.Greater(t, before, last)
	require.NoError(t, lease.Extend(t.Context()))
	assert.Equal(t, before, lease.Fence())
	inner, err := c.TryLock(lease.Context(), "a", short)
	require.NoError(t, err)
	assert.Equal(t, before, inner.Fence(), "it is the same lock")
	require.NoError(t, inner.Release(t.Context()))
	require.NoError(t, lease.Release(t.Context()))

	plain, err := guarded(t, redistest.Addrs(masters)).TryLock(t.Context(), "a", short)
	require.NoError(t, err)
	assert.Zero(t, plain.Fence())
	require.NoError(t, plain.Release(t.Context()))
}

// ahead lets a master count from far above what any wall clock says, so that the number of a
// lock is its own.
const ahead = 4_000_000_000_000_000

// counter is the field that counts for the name "a".
var counter = master.Counter("a")

func setCounter(t *testing.T, m *redistest.Master, no uint64) {
	t.Helper()
	require.NoError(t, m.Client().HSet(t.Context(), "redlock:tenure", counter, no).Err())
}

func readCounter(t *testing.T, m *redistest.Master) uint64 {
	t.Helper()
	no, err := m.Client().HGet(t.Context(), "redlock:tenure", counter).Uint64()
	require.NoError(t, err)
	return no
}

// One master alone gave the number. Before the lease is there, a majority knows it.
func TestFenceIsKnownToAMajority(t *testing.T) {
	masters := redistest.Start(t, 5)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	setCounter(t, masters[0], ahead)
	kill := func(some []*redistest.Master) {
		for _, m := range some {
			m.Stop()
		}
	}
	kill(masters[3:]) // so that the first has a vote
	lease, err := c.Lock(t.Context(), "a", short)
	require.NoError(t, err)
	require.EqualValues(t, ahead+1, lease.Fence())
	know := 0
	for _, m := range masters[:3] {
		if readCounter(t, m) == ahead+1 {
			know++
		}
	}
	assert.Equal(t, 3, know)
	require.NoError(t, lease.Release(t.Context()))

	for _, m := range masters[3:] {
		m.Cont()
	}
	masters[0].Stop()
	fresh := fenced(t, redistest.Addrs(masters))
	assert.Greater(t, nextFence(t, fresh, "a"), uint64(ahead+1), "the one that gave it is away")
	masters[0].Cont()
}

// Masters that forget, one after another, do not give a number again.
func TestFencesGrowWhileMastersForget(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	for _, m := range masters {
		setCounter(t, m, ahead)
	}
	last := nextFence(t, c, "a")
	require.Greater(t, last, uint64(ahead))
	for _, m := range masters {
		m.Restart()
		require.True(t, redistest.Poll(func() bool { return votes(t, c) == 3 }))
		next := nextFence(t, fenced(t, redistest.Addrs(masters)), "a")
		require.Greater(t, next, last)
		last = next
	}
}

// A counter of long ago, of a backup or an old replica, counts for nothing.
func TestAnOldCounterIsBelowTheFloor(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	for _, m := range masters {
		setCounter(t, m, ahead)
	}
	last := nextFence(t, c, "a")
	for _, m := range masters {
		require.NoError(t, m.Client().Del(t.Context(), "redlock:tenure").Err())
		setCounter(t, m, 5)
		require.True(t, redistest.Poll(func() bool { return votes(t, c) == 3 }))
	}
	assert.Greater(t, nextFence(t, fenced(t, redistest.Addrs(masters)), "a"), last)
}

func TestNoNumberIsLeft(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	for _, m := range masters {
		setCounter(t, m, quorum.MaxFence-1)
	}
	assert.EqualValues(t, quorum.MaxFence, nextFence(t, c, "a"), "the last one, with all its digits")
	_, err := c.TryLock(t.Context(), "a", short)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	assert.ErrorContains(t, err, "no number is left")
	requireNoKey(t, "a", masters)
}

func TestFencesOfContendersAreTheirOwn(t *testing.T) {
	masters := redistest.Start(t, 5)
	clients := make([]*redlock.Client, 4)
	for i := range clients {
		clients[i] = fenced(t, redistest.Addrs(masters))
	}
	require.NoError(t, clients[0].Init(t.Context()))
	var mu sync.Mutex
	var all []uint64 // in the order in which the lock was held
	var workers sync.WaitGroup
	for _, c := range clients {
		workers.Go(func() {
			for range 50 {
				lease, err := c.Lock(t.Context(), "a", short)
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				all = append(all, lease.Fence())
				mu.Unlock()
				assert.NoError(t, lease.Release(t.Context()))
			}
		})
	}
	workers.Wait()
	for i := 1; i < len(all); i++ {
		require.Greater(t, all[i], all[i-1])
	}
	require.Len(t, all, 200)
}

func TestFencingNeedsTheGuard(t *testing.T) {
	_, err := redlock.New(redlock.Options{Masters: []string{"a:1", "b:1", "c:1"}, Fencing: true, Unguarded: true})
	assert.ErrorContains(t, err, "no fences")
}

// A wall clock that is behind only costs round trips.
func TestCountersGrowByThemselves(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	for i, m := range masters {
		setCounter(t, m, ahead+uint64(100*i))
	}
	last := uint64(0)
	for i := range 10 {
		next := nextFence(t, c, "a")
		require.Greater(t, next, last, strconv.Itoa(i))
		last = next
	}
	assert.Less(t, last, uint64(ahead+300))
}

// Masters that are busy with different names give one number all the same: the hint is above
// what any of them has come to.
func TestMastersAgreeByTheHint(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := fenced(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	nextFence(t, c, "a")
	for i, m := range masters {
		setCounter(t, m, readCounter(t, m)+uint64(i))
	}
	fence := nextFence(t, c, "a")
	for _, m := range masters {
		require.Eventually(t, func() bool {
			return readCounter(t, m) == fence
		}, redistest.Patience, time.Millisecond)
	}
}

// A number that a master gave before it got its tenure knows nothing of what others had
// counted up to. The tail, which tells of the tenure, comes after it.
func TestFenceFromBeforeTheTenureDoesNotCount(t *testing.T) {
	masters := redistest.Start(t, 3)
	list := redistest.Addrs(masters)
	a := connectWith(t, redlock.Options{Masters: list, MaxTTL: time.Second, Fencing: true})
	require.NoError(t, a.Init(t.Context()))
	// One whose wall clock is ahead has a fence that the third master does not know.
	setCounter(t, masters[0], ahead)
	masters[2].Stop()
	before := nextFence(t, a, "a")
	masters[2].Cont()
	require.NoError(t, a.Close())

	masters[0].FlushAll()
	patient := connectWith(t, redlock.Options{Masters: list, MaxTTL: time.Second})
	wait := patient.Health(t.Context())[0].Until
	require.NotZero(t, wait)
	require.NoError(t, patient.Close()) // else it would get the master its tenure
	time.Sleep(wait + 100*time.Millisecond)

	first, network := proxy.Start(t, list[0]), proxy.Start(t, list[1])
	network.Judge(func([]string) proxy.Verdict { return proxy.Cut })
	first.Judge(func(command []string) proxy.Verdict {
		if command[0] == "time" { // the tail
			return proxy.HoldBack
		}
		return proxy.Pass
	})
	x := connectWith(t, redlock.Options{Masters: []string{first.Addr(), network.Addr(), list[2]}, MaxTTL: time.Second, Fencing: true,
		Redis: func(o *redis.Options) { o.ReadTimeout = 5 * time.Second }})
	got := make(chan uint64, 1)
	go func() {
		lease, _ := x.TryLock(t.Context(), "a", time.Second)
		if lease == nil {
			got <- 0
			return
		}
		got <- lease.Fence()
	}()
	require.True(t, redistest.Poll(func() bool { return masters[0].Client().Exists(t.Context(), "a").Val() == 1 }))
	require.True(t, connectWith(t, redlock.Options{Masters: list, MaxTTL: time.Second}).Health(t.Context())[0].Votes)
	first.Resume()
	if fence := <-got; fence != 0 {
		assert.Greater(t, fence, before)
	}
}
