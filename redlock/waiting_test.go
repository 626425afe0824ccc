package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// lock takes name in a goroutine, and returns where its lease, or error, will come.
func lock(ctx context.Context, c *redlock.Client, names ...string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		l, err := c.LockAll(ctx, long, names...)
		done <- outcome{l, err}
	}()
	return done
}

type outcome struct {
	lease *redlock.Lease
	err   error
}

// requireLease waits for a lease.
func requireLease(t *testing.T, from <-chan outcome) *redlock.Lease {
	t.Helper()
	select {
	case o := <-from:
		require.NoError(t, o.err)
		return o.lease
	case <-time.After(redistest.Patience):
		require.Fail(t, "nobody woke the waiter")
		return nil
	}
}

// requireListening waits until somebody listens for the end of name on masters.
func requireListening(t *testing.T, name string, masters []*redistest.Master, listeners int64) {
	t.Helper()
	for _, m := range masters {
		require.Eventually(t, func() bool {
			channel := "redlock:free:" + name
			return m.Client().PubSubNumSub(t.Context(), channel).Val()[channel] == listeners
		}, redistest.Patience, time.Millisecond, "listeners on %s", m.Addr())
	}
}

func TestReleaseWakesAWaiterInAnotherProcess(t *testing.T) {
	masters := start(t, 5)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	held, err := a.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	waiting := lock(t.Context(), b, "name")
	requireListening(t, "name", masters, 1)
	require.NoError(t, held.Release(t.Context()))
	require.NoError(t, requireLease(t, waiting).Release(t.Context()))
	requireListening(t, "name", masters, 0) // only while somebody waits
}

// No message comes from a holder that died, from a master that restarted, over a
// connection that broke, or from a client of another library. None of it may keep a
// waiter past the end of the keys, and a little.
func TestWaiterThatIsNotTold(t *testing.T) {
	for _, fault := range []struct {
		name string
		do   func(t *testing.T, masters []*redistest.Master)
	}{
		{"the holder died, and its keys end", func(t *testing.T, masters []*redistest.Master) {
			for _, m := range masters {
				require.NoError(t, m.Client().PExpire(t.Context(), "name", 300*time.Millisecond).Err())
			}
		}},
		{"another library's client releases", func(t *testing.T, masters []*redistest.Master) {
			for _, m := range masters {
				require.NoError(t, m.Client().Del(t.Context(), "name").Err())
			}
		}},
		{"the connections that listen break, then it is released", func(t *testing.T, masters []*redistest.Master) {
			for _, m := range masters {
				require.NoError(t, m.Client().Do(t.Context(), "client", "kill", "type", "pubsub").Err())
				require.NoError(t, m.Client().Del(t.Context(), "name").Err())
			}
		}},
		{"the masters restart empty", func(_ *testing.T, masters []*redistest.Master) {
			for _, m := range masters {
				m.Kill()
				m.Restart()
			}
		}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			masters := start(t, 3)
			c := connectUnguarded(t, redistest.Addrs(masters)) // with a guard, nobody gets it from such masters
			take(t, "name", masters)
			waiting := lock(t.Context(), c, "name")
			requireListening(t, "name", masters, 1)
			fault.do(t, masters)
			require.NoError(t, requireLease(t, waiting).Release(t.Context()))
		})
	}
}

// Who waits in one process is served in order, and only the first asks the masters.
func TestLineIsServedInOrder(t *testing.T) {
	masters := start(t, 3)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	held, err := a.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	const n = 20
	var order []int
	var all sync.WaitGroup
	for i := range n {
		queued := redlock.Waiting(b, "name")
		all.Go(func() {
			l, err := b.Lock(t.Context(), "name", long)
			if assert.NoError(t, err) {
				order = append(order, i) // the lock is the lock
				assert.NoError(t, l.Release(t.Context()))
			}
		})
		require.Eventually(t, func() bool { return redlock.Waiting(b, "name") > queued }, redistest.Patience, time.Millisecond)
	}
	require.NoError(t, held.Release(t.Context()))
	all.Wait()
	for i := range n {
		require.Equal(t, i, order[i])
	}
	require.Zero(t, redlock.Waiting(b, "name"), "nothing is left of the line")
}

// Two hundred waiters cost the masters no more than one.
func TestWaitersDoNotMeltTheMasters(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	held, err := c.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	const waiters = 200
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			assert.NoError(t, c.Do(t.Context(), "name", long, func(context.Context) error { return nil }))
		})
	}
	require.Eventually(t, func() bool { return redlock.Waiting(c, "name") == waiters }, redistest.Patience, time.Millisecond)
	require.NoError(t, masters[0].Client().ConfigResetStat(t.Context()).Err())
	require.NoError(t, held.Release(t.Context()))
	all.Wait()
	calls := commands(t, masters[0])
	assert.Less(t, calls, 10*waiters, "commands, for %d releases", waiters+1)
}

// commands returns how many commands m has executed, those inside scripts included.
func commands(t *testing.T, m *redistest.Master) (calls int) {
	t.Helper()
	for line := range strings.Lines(m.Client().Info(t.Context(), "commandstats").Val()) {
		if _, rest, ok := strings.Cut(line, ":calls="); ok {
			n, err := strconv.Atoi(rest[:strings.Index(rest, ",")])
			require.NoError(t, err)
			calls += n
		}
	}
	return calls
}

// Leases that are never released, only left to end, leave nothing behind.
func TestLeasesThatAreLeftToEnd(t *testing.T) {
	c := connect(t, redistest.Addrs(start(t, 1)))
	const n = 5000
	for i := range n {
		_, err := c.TryLock(t.Context(), fmt.Sprint(i), redlock.MinTTL)
		require.NoError(t, err)
	}
	require.Less(t, redlock.Lines(c), n)
}

func TestWaitersThatGiveUp(t *testing.T) {
	masters := start(t, 3)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	held, err := a.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	one, two := lock(first, b, "name"), lock(second, b, "name")
	requireListening(t, "name", masters, 1)
	require.Eventually(t, func() bool { return redlock.Waiting(b, "name") == 2 }, redistest.Patience, time.Millisecond)
	three := lock(t.Context(), b, "name")
	cancelSecond() // one of these two is the first in the line: the others must not notice
	cancelFirst()
	for _, o := range []outcome{<-one, <-two} {
		require.ErrorIs(t, o.err, context.Canceled)
		require.Nil(t, o.lease)
	}
	require.NoError(t, held.Release(t.Context()))
	require.NoError(t, requireLease(t, three).Release(t.Context()))
	requireNoKey(t, "name", masters)
}

// A holder that overruns its lease does not hold up those behind it in its process.
func TestHolderOfThisProcessExpires(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	held, err := c.Lock(t.Context(), "name", 100*time.Millisecond)
	require.NoError(t, err)
	next := requireLease(t, lock(t.Context(), c, "name"))
	require.False(t, held.Valid())
	require.ErrorIs(t, held.Release(t.Context()), redlock.ErrExpired)
	require.True(t, next.Valid())
	require.NoError(t, next.Extend(t.Context()), "the late release did not free it")
	require.NoError(t, next.Release(t.Context()))
}

func TestCloseEndsAllWaits(t *testing.T) {
	masters := start(t, 3)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	held, err := a.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	var waiting []<-chan outcome
	for range 10 {
		waiting = append(waiting, lock(t.Context(), b, "name"))
	}
	requireListening(t, "name", masters, 1)
	require.NoError(t, b.Close())
	for _, w := range waiting {
		require.ErrorIs(t, (<-w).err, redlock.ErrClosed)
	}
	require.NoError(t, held.Release(t.Context()))
	requireNoKey(t, "name", masters)
	requireListening(t, "name", masters, 0)
}

// Close waits for the clean-up of attempts that are under way, whenever it comes.
func TestCloseAmidAnAttemptLeavesNoKey(t *testing.T) {
	masters := start(t, 3)
	take(t, "busy", masters[:2]) // each attempt is granted by the third, and must give that back
	for i := range 100 {
		c := connect(t, redistest.Addrs(masters))
		_, err := c.TryLock(t.Context(), "busy", long)
		require.ErrorIs(t, err, redlock.ErrHeld)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					if _, err := c.TryLock(t.Context(), "busy", long); errors.Is(err, redlock.ErrClosed) {
						return
					}
				}
			})
		}
		time.Sleep(time.Duration(i%10) * 100 * time.Microsecond) // to hit all of an attempt
		require.NoError(t, c.Close())
		require.Zero(t, masters[2].Client().Exists(t.Context(), "busy").Val())
		all.Wait()
	}
}

func TestLockWithinItself(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	outer, err := c.Lock(t.Context(), "name", long)
	require.NoError(t, err)
	inside := outer.Context()

	inner, err := c.TryLock(inside, "name", long)
	require.NoError(t, err)
	require.Equal(t, outer.Token(), inner.Token())
	got, ok := redlock.FromContext(inner.Context())
	require.True(t, ok)
	require.Same(t, inner, got)

	_, err = c.TryLock(t.Context(), "name", long)
	require.ErrorIs(t, err, redlock.ErrHeld, "who does not come with the context is a stranger")

	require.NoError(t, inner.Release(t.Context()))
	require.NoError(t, inner.Release(t.Context()), "it counts once")
	require.False(t, inner.Valid())
	require.Error(t, inner.Context().Err())
	require.True(t, outer.Valid())
	require.NoError(t, outer.Extend(t.Context()))
	_, err = c.TryLock(t.Context(), "name", long)
	require.ErrorIs(t, err, redlock.ErrHeld)

	last, err := c.Lock(inside, "name", long)
	require.NoError(t, err)
	require.NoError(t, outer.Release(t.Context()), "in whatever order")
	require.True(t, last.Valid())
	requireKey(t, "name", masters)
	require.NoError(t, last.Release(t.Context()))
	requireNoKey(t, "name", masters)

	fresh, err := c.TryLock(context.WithoutCancel(inside), "name", long)
	require.NoError(t, err)
	require.NotEqual(t, outer.Token(), fresh.Token(), "a lease that has ended holds nothing any more")
	require.NoError(t, fresh.Release(t.Context()))
}

func TestDoWithinDo(t *testing.T) {
	masters := start(t, 3)
	c := connect(t, redistest.Addrs(masters))
	boom := errors.New("boom")
	err := c.Do(t.Context(), "a", long, func(ctx context.Context) error {
		return c.Do(ctx, "b", long, func(ctx context.Context) error {
			err := c.Do(ctx, "a", long, func(context.Context) error { return boom })
			_, held := c.TryLock(t.Context(), "a", long)
			assert.ErrorIs(t, held, redlock.ErrHeld, "the inner one has not let go of the outer one's")
			assert.NoError(t, ctx.Err())
			return err
		})
	})
	require.ErrorIs(t, err, boom)
	requireNoKey(t, "a", masters)
	requireNoKey(t, "b", masters)
}

func TestLockAll(t *testing.T) {
	masters := start(t, 5)
	a, b := connect(t, redistest.Addrs(masters)), connect(t, redistest.Addrs(masters))
	both, err := a.LockAll(t.Context(), long, "y", "x", "y")
	require.NoError(t, err)
	require.Equal(t, "x,y", both.Name())
	requireKey(t, "x", masters)
	requireKey(t, "y", masters)
	for _, name := range []string{"x", "y"} {
		_, err := b.TryLock(t.Context(), name, long)
		require.ErrorIs(t, err, redlock.ErrHeld)
	}
	inner, err := a.Lock(both.Context(), "y", long)
	require.NoError(t, err, "each of them is held")
	require.NoError(t, inner.Release(t.Context()))
	require.NoError(t, both.Extend(t.Context()))
	_, err = a.LockAll(both.Context(), long, "y", "z")
	require.ErrorContains(t, err, `"y" is held by a lease in ctx`, "it would wait for itself")

	waiting := lock(t.Context(), b, "y", "z")
	requireListening(t, "y", masters, 1)
	for _, m := range masters {
		require.Zero(t, m.Client().Exists(t.Context(), "z").Val(), "all or none")
	}
	require.NoError(t, both.Release(t.Context()))
	require.NoError(t, requireLease(t, waiting).Release(t.Context()))
	for _, name := range []string{"x", "y", "z"} {
		requireNoKey(t, name, masters)
	}
	_, err = a.LockAll(t.Context(), long)
	require.ErrorContains(t, err, "no name")
}

// Names in any order, overlapping in any way, from several processes and goroutines:
// nobody waits for ever, and nobody meets another.
func TestLockAllNeitherDeadlocksNorMixes(t *testing.T) {
	masters := start(t, 3)
	var inside [3]atomic.Int32
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for w := range 4 {
		c := connect(t, redistest.Addrs(masters))
		for g := range 2 {
			all.Go(func() {
				for i := range 15 {
					first := (w + i + g) % 3
					second := (first + 1 + w%2) % 3
					l, err := c.LockAll(ctx, long, fmt.Sprint(first), fmt.Sprint(second))
					if !assert.NoError(t, err) {
						return
					}
					assert.EqualValues(t, 1, inside[first].Add(1))
					assert.EqualValues(t, 1, inside[second].Add(1))
					inside[second].Add(-1)
					inside[first].Add(-1)
					assert.NoError(t, l.Release(ctx))
				}
			})
		}
	}
	all.Wait()
}
