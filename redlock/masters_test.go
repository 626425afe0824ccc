package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

// What must hold on real masters, whatever they do.

const long = 30 * time.Second // a ttl that no test outlives: no key goes by itself

// connect returns a client of masters that gives up on a hung one soon.
func connect(t *testing.T, masters []string) *redlock.Client {
	t.Helper()
	return connectWith(t, redlock.Options{Masters: masters})
}

// connectUnguarded returns one that believes masters that were never initialised, or forget.
func connectUnguarded(t *testing.T, masters []string) *redlock.Client {
	t.Helper()
	return connectWith(t, redlock.Options{Masters: masters, Unguarded: true})
}

func connectWith(t *testing.T, o redlock.Options) *redlock.Client {
	t.Helper()
	further := o.Redis
	o.Redis = func(r *redis.Options) {
		r.ReadTimeout = 300 * time.Millisecond
		if further != nil {
			further(r)
		}
	}
	c, err := redlock.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// start returns masters that are a group.
func start(t *testing.T, n int) []*redistest.Master {
	t.Helper()
	masters := redistest.Start(t, n)
	c, err := redlock.New(redlock.Options{Masters: redistest.Addrs(masters)})
	require.NoError(t, err)
	require.NoError(t, c.Init(t.Context()))
	require.NoError(t, c.Close())
	return masters
}

// take has another client, outside this library, hold name on masters.
func take(t *testing.T, name string, masters []*redistest.Master) {
	t.Helper()
	for _, m := range masters {
		require.NoError(t, m.Client().Set(t.Context(), name, "another's", long).Err())
	}
}

// requireNoKey waits until name is free on masters.
func requireNoKey(t *testing.T, name string, masters []*redistest.Master) {
	t.Helper()
	for _, m := range masters {
		require.Eventually(t, func() bool { return m.Client().Exists(t.Context(), name).Val() == 0 },
			redistest.Patience, 5*time.Millisecond, "a key was left on %s", m.Addr())
	}
}

func TestCancelledLockLeavesNoKey(t *testing.T) {
	masters := start(t, 5)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	take(t, "busy", masters[:3]) // b gets votes from the other two, and must give them back

	ctx, cancel := context.WithCancel(t.Context())
	var attempts atomic.Int32
	waited := make(chan error)
	go func() {
		_, err := b.Lock(ctx, "busy", long)
		waited <- err
	}()
	require.Eventually(t, func() bool {
		_, err := b.TryLock(t.Context(), "busy", long)
		attempts.Add(1)
		return errors.Is(err, redlock.ErrHeld)
	}, redistest.Patience, time.Millisecond)
	cancel()
	err := <-waited
	require.ErrorIs(t, err, context.Canceled)

	for _, m := range masters[3:] { // at once: b has returned
		require.Zero(t, m.Client().Exists(t.Context(), "busy").Val())
	}
	for _, m := range masters[:3] {
		require.NoError(t, m.Client().Del(t.Context(), "busy").Err())
	}
	lease, err := a.TryLock(t.Context(), "busy", long)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
}

func TestTimedOutLockLeavesNoKey(t *testing.T) {
	masters := start(t, 5)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	lease, err := b.TryLock(t.Context(), "warm", long) // all lanes are up
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))

	for _, m := range masters[2:] {
		m.Stop()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = b.TryLock(ctx, "name", long)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, m := range masters[:2] { // those that can be reached: at once
		require.Zero(t, m.Client().Exists(t.Context(), "name").Val())
	}
	for _, m := range masters[2:] {
		m.Cont()
	}
	requireNoKey(t, "name", masters) // those that were hung: their late SETs are undone
	lease, err = a.TryLock(t.Context(), "name", long)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
}

// A token that is used for a second attempt lets a late release of the first one free it.
func TestEveryAttemptHasAFreshToken(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	spy := masters[0].Client()
	require.NoError(t, spy.ConfigSet(t.Context(), "slowlog-log-slower-than", "0").Err())
	require.NoError(t, spy.ConfigSet(t.Context(), "slowlog-max-len", "10000").Err())
	take(t, "busy", masters)

	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := c.Lock(ctx, "busy", long)
		cancel()
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}

	log, err := spy.SlowLogGet(t.Context(), -1).Result()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, entry := range log {
		if len(entry.Args) == 6 && entry.Args[0] == "set" {
			require.False(t, seen[entry.Args[2]], "the token %s was used twice", entry.Args[2])
			seen[entry.Args[2]] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), 6, "attempts that the master saw")
}

func TestReleaseReachesAMasterThatWasAway(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	lease, err := c.TryLock(t.Context(), "name", long)
	require.NoError(t, err)
	requireKey(t, "name", masters)
	masters[2].Stop()
	require.NoError(t, lease.Release(t.Context()), "a majority has let go")
	masters[2].Cont()
	requireNoKey(t, "name", masters)
}

// requireKey waits until name is taken on masters: the SETs behind the majority are
// still on their way when TryLock returns.
func requireKey(t *testing.T, name string, masters []*redistest.Master) {
	t.Helper()
	for _, m := range masters {
		require.Eventually(t, func() bool { return m.Client().Exists(t.Context(), name).Val() == 1 },
			redistest.Patience, time.Millisecond)
	}
}

// Two addresses of one master are one vote, whatever the question.
func TestMasterUnderTwoAddressesVotesOnce(t *testing.T) {
	masters := redistest.Start(t, 2)
	alias := proxy.Start(t, masters[0].Addr())
	c := connectUnguarded(t, []string{masters[0].Addr(), alias.Addr(), masters[1].Addr()})
	lease, err := c.TryLock(t.Context(), "name", long)
	require.NoError(t, err, "two distinct masters of three")
	requireKey(t, "name", masters)
	require.NoError(t, lease.Extend(t.Context()))

	masters[1].Kill()
	err = lease.Extend(t.Context())
	require.ErrorIs(t, err, redlock.ErrNoQuorum, "both addresses agree, but they are one master")
	require.ErrorContains(t, err, alias.Addr()+": unsafe configuration: it is the same master as "+masters[0].Addr())
	_, err = c.TryLock(t.Context(), "other", long)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorContains(t, err, "it is the same master as "+masters[0].Addr())
	holdings, err := c.Inspect(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.ErrorIs(t, holdings[1].Err, redlock.ErrUnsafe)
}

func TestErrorNamesEachMasterThatDidNotGrant(t *testing.T) {
	masters := start(t, 5)
	c := connect(t, redistest.Addrs(masters))
	masters[0].Kill()
	masters[1].Stop()
	take(t, "a", masters[2:3])

	_, err := c.TryLock(t.Context(), "a", long)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	assert.Regexp(t, fmt.Sprintf(`^redlock: lock "a": no quorum: 2 of 5 granted \(`+
		`%s: dial tcp: connect: connection refused; `+
		`%s: no answer within 300ms: is it hung, or the network cut\?; `+
		`%s: held by another, (30|29\.\d)s left\)$`, masters[0].Addr(), masters[1].Addr(), masters[2].Addr()), err.Error())

	var e *redlock.Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Votes, 5)
	assert.Equal(t, quorum.Unknown, e.Votes[0].Answer)
	assert.Equal(t, quorum.Refused, e.Votes[2].Answer)
	assert.Equal(t, quorum.Granted, e.Votes[4].Answer)
}

// Where so many masters are unfit that none of the rest could make it a majority,
// waiting is of no use: Lock says so at once.
func TestUnfitMasters(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	for i, m := range masters[1:] {
		require.NoError(t, m.Client().ConfigSet(t.Context(), "maxmemory", "100mb").Err())
		require.NoError(t, m.Client().ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err())
		lease, err := connect(t, redistest.Addrs(masters)).Lock(t.Context(), "name", long)
		if i == 0 {
			require.NoError(t, err, "two fit masters of three")
			require.NoError(t, lease.Release(t.Context()))
			continue
		}
		require.ErrorIs(t, err, redlock.ErrUnsafe)
	}
	_, err := c.Lock(t.Context(), "name", long)
	require.ErrorIs(t, err, redlock.ErrUnsafe)
}

// The first attempt of a fresh client has to connect first. That some masters are
// known to be away before others are connected must not look like no quorum.
func TestFirstAttemptWaitsForTheMastersThatAreThere(t *testing.T) {
	masters := start(t, 5)
	take(t, "busy", masters[2:])
	masters[0].Kill()
	masters[1].Kill()
	for range 50 {
		_, err := connect(t, redistest.Addrs(masters)).TryLock(t.Context(), "busy", long)
		require.ErrorIs(t, err, redlock.ErrHeld)
	}
}

// A hung master must cost neither goroutines nor memory, however long it hangs, and
// nothing of what was asked meanwhile may be left on it.
func TestHungMasterCostsNothing(t *testing.T) {
	masters := start(t, 5)
	c := connect(t, redistest.Addrs(masters))
	use := func(times int) {
		var workers sync.WaitGroup
		for w := range 10 {
			workers.Go(func() {
				for range times / 10 {
					lease, err := c.TryLock(t.Context(), fmt.Sprint("worker", w), long)
					if assert.NoError(t, err) {
						assert.NoError(t, lease.Release(t.Context()))
					}
				}
			})
		}
		workers.Wait()
	}
	use(1000)
	masters[4].Stop()
	use(1000)
	_, err := c.Inspect(t.Context(), "any") // until the lane has noticed: that is what it queues
	require.NoError(t, err)
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	use(10_000)
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
	assert.Less(t, heapInUse(), heap+1<<20, "bytes")

	masters[4].Cont()
	for w := range 10 {
		requireNoKey(t, fmt.Sprint("worker", w), masters)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Many workers, few names: nobody ever finds another one inside.
func TestMutualExclusion(t *testing.T) {
	masters := start(t, 5)
	inside := make([]atomic.Int32, 3)
	var entered atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var workers sync.WaitGroup
	for w := range 6 {
		c := connect(t, redistest.Addrs(masters))
		workers.Go(func() {
			for i := range 10 {
				k := (w + i) % len(inside)
				err := c.Do(ctx, fmt.Sprint("name", k), long, func(context.Context) error {
					assert.EqualValues(t, 1, inside[k].Add(1), "holders of one lock")
					runtime.Gosched()
					inside[k].Add(-1)
					entered.Add(1)
					return nil
				})
				assert.NoError(t, err)
			}
		})
	}
	workers.Wait()
	assert.EqualValues(t, 60, entered.Load())
}

func TestInspectAndUnlock(t *testing.T) {
	masters := start(t, 3)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	lease, err := a.TryLock(t.Context(), "name", long)
	require.NoError(t, err)
	requireKey(t, "name", masters)

	holdings, err := b.Inspect(t.Context(), "name")
	require.NoError(t, err)
	require.Len(t, holdings, 3)
	for i, h := range holdings {
		assert.Equal(t, masters[i].Addr(), h.Master)
		assert.Equal(t, lease.Token(), h.Token)
		assert.Greater(t, h.Left, lease.Remaining(), "keys outlive leases")
	}
	require.ErrorIs(t, b.Unlock(t.Context(), "name", "another token"), redlock.ErrNotHeld)
	require.NoError(t, b.Unlock(t.Context(), "name", lease.Token()))
	requireNoKey(t, "name", masters)

	require.True(t, lease.Valid(), "the holder does not know yet")
	require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrNotHeld)
	require.False(t, lease.Valid())
	require.ErrorIs(t, context.Cause(lease.Context()), redlock.ErrNotHeld)

	masters[0].Kill()
	masters[1].Kill()
	holdings, err = b.Inspect(t.Context(), "name")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	require.Error(t, holdings[0].Err)
	require.NoError(t, holdings[2].Err)
}

func TestClosedClient(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	take(t, "busy", masters)
	waiting := make(chan error)
	go func() {
		_, err := c.Lock(t.Context(), "busy", long)
		waiting <- err
	}()
	lease, err := c.TryLock(t.Context(), "held", long)
	require.NoError(t, err)

	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "idempotent")
	require.ErrorIs(t, <-waiting, redlock.ErrClosed)
	require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrClosed)
	require.True(t, lease.Valid(), "a holder at work keeps what it has")
	require.ErrorIs(t, lease.Release(t.Context()), redlock.ErrClosed)
	_, err = c.TryLock(t.Context(), "name", long)
	require.ErrorIs(t, err, redlock.ErrClosed)
}
