package redlock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// short is a MaxTTL that tests can wait for.
const short = time.Second

// guarded returns a client of masters that are a group, or are to be.
func guarded(t *testing.T, masters []string) *redlock.Client {
	t.Helper()
	c, err := redlock.New(redlock.Options{Masters: masters, MaxTTL: short})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// votes returns how many masters vote.
func votes(t *testing.T, c *redlock.Client) int {
	t.Helper()
	n := 0
	for _, h := range c.Health(t.Context()) {
		if h.Votes {
			n++
		}
	}
	return n
}

func TestMastersThatWereNeverInitialised(t *testing.T) {
	masters := redistest.Addrs(redistest.Start(t, 3))
	c := guarded(t, masters)
	_, err := c.TryLock(t.Context(), "a", short)
	require.ErrorIs(t, err, redlock.ErrUnsafe)
	assert.ErrorContains(t, err, "redlock init")
	_, err = c.Lock(t.Context(), "a", short)
	require.ErrorIs(t, err, redlock.ErrUnsafe, "waiting does not mend it")
	assert.Zero(t, votes(t, c))

	require.NoError(t, c.Init(t.Context()))
	require.NoError(t, c.Init(t.Context()), "they are a group already")
	assert.Equal(t, 3, votes(t, c))
	for _, client := range []*redlock.Client{c, guarded(t, masters)} {
		lease, err := client.TryLock(t.Context(), "a", short)
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
	}
}

func TestAMasterThatForgotVotesAgainAfterTheWait(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := guarded(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	for _, m := range masters {
		m.Kill()
		m.Restart()
		require.True(t, redistest.Poll(func() bool { return votes(t, c) == 2 }))
		lease, err := c.Lock(t.Context(), "a", short)
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		require.True(t, redistest.Poll(func() bool { return votes(t, c) == 3 }))
	}
}

// Masters need not agree on the time. How far apart they were is written down.
func TestMastersWhoseClocksDiffer(t *testing.T) {
	masters := redistest.Start(t, 3, redistest.WallClock(t))
	masters[1].StepClock(5 * time.Minute)
	masters[2].StepClock(-time.Hour)
	require.NoError(t, guarded(t, redistest.Addrs(masters)).Init(t.Context()))
	c := guarded(t, redistest.Addrs(masters))
	assert.Equal(t, 3, votes(t, c))
	skew := func() string { return masters[1].Client().HGet(t.Context(), "redlock:tenure", "skew").Val() }
	before := skew()
	masters[0].Kill()
	for began := time.Now(); time.Since(began) < 2*short; { // longer than clocks are watched before anything is written down
		lease, err := c.TryLock(t.Context(), "a", short)
		require.NoError(t, err, "the other two agree")
		require.NoError(t, lease.Release(t.Context()))
		time.Sleep(10 * time.Millisecond)
	}
	require.Equal(t, 2, votes(t, c))
	assert.Equal(t, before, skew(), "who is away makes no difference to what is written down")
}

// Clocks drift apart in time. Who watched them writes that down, for those to come.
func TestDriftIsWrittenDown(t *testing.T) {
	masters := redistest.Start(t, 3, redistest.WallClock(t))
	c := guarded(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	skew := func() int {
		micros, err := strconv.Atoi(masters[1].Client().HGet(t.Context(), "redlock:tenure", "skew").Val())
		require.NoError(t, err)
		return micros
	}
	use := func() {
		lease, err := c.Lock(t.Context(), "a", short)
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
	}
	use()
	require.Less(t, skew(), 50_000)
	masters[1].StepClock(100 * time.Millisecond) // less than what counts as a step
	require.True(t, redistest.Poll(func() bool {
		use()
		return skew() > 90_000
	}))
	assert.Equal(t, 3, votes(t, guarded(t, redistest.Addrs(masters))))
}

func TestHealth(t *testing.T) {
	masters := redistest.Start(t, 3, redistest.AOF("everysec"))
	list := redistest.Addrs(masters)
	c := guarded(t, list)
	require.NoError(t, c.Init(t.Context()))
	all := c.Health(t.Context())
	for i, h := range all {
		require.NoError(t, h.Err)
		assert.True(t, h.Votes)
		assert.Equal(t, list[i], h.Master)
		assert.Equal(t, i+1, h.Seat)
		assert.EqualValues(t, 1, h.Term)
		assert.Equal(t, all[0].Group, h.Group)
		assert.Equal(t, "master", h.Role)
		assert.Contains(t, h.Identity, masters[i].RunID())
		assert.Positive(t, h.RoundTrip)
		assert.Less(t, h.Offset.Abs(), time.Second)
		assert.Equal(t, [3]string{"yes", "everysec", ""}, [3]string{h.AppendOnly, h.AppendFsync, h.Save})
		assert.Equal(t, "noeviction", h.Eviction)
		assert.NotEmpty(t, h.Version)
	}
	masters[1].FlushAll()
	require.True(t, redistest.Poll(func() bool { return votes(t, c) == 2 }))
	all = c.Health(t.Context())
	assert.Contains(t, all[1].Why, "votes again in")
	assert.Positive(t, all[1].Until)
	assert.False(t, all[1].Refused)
	assert.Equal(t, 2, all[1].Seat)
	masters[0].Kill()
	require.True(t, redistest.Poll(func() bool { return c.Health(t.Context())[0].Err != nil }))

	unguarded := connectUnguarded(t, list).Health(t.Context())
	assert.True(t, unguarded[1].Votes)
	assert.True(t, unguarded[1].Unguarded)
}

func TestTenureIsTraced(t *testing.T) {
	masters := redistest.Start(t, 3)
	type change struct {
		master string
		has    bool
	}
	changes := make(chan change, 100)
	c := connectWith(t, redlock.Options{Masters: redistest.Addrs(masters), MaxTTL: short, Trace: &redlock.Trace{
		Tenure: func(master string, has bool) { changes <- change{master, has} },
	}})
	require.NoError(t, c.Init(t.Context()))
	require.Equal(t, 3, votes(t, c))
	for range 3 {
		assert.True(t, (<-changes).has)
	}
	masters[1].FlushAll()
	require.True(t, redistest.Poll(func() bool { return votes(t, c) == 2 }))
	assert.Equal(t, change{masters[1].Addr(), false}, <-changes)
	assert.Equal(t, change{masters[1].Addr(), true}, <-changes, "after the wait")
}

// The key of a master that forgot is put back. One that somebody took away is not.
func TestExtendPutsBackWhatWasForgotten(t *testing.T) {
	masters := redistest.Start(t, 3)
	c := guarded(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	lease, err := c.Lock(t.Context(), "a", short)
	require.NoError(t, err)
	requireKey(t, "a", masters)
	require.NoError(t, lease.Extend(t.Context()))
	require.NoError(t, masters[0].Client().Del(t.Context(), "a").Err())
	require.NoError(t, lease.Extend(t.Context()))
	assert.Zero(t, masters[0].Client().Exists(t.Context(), "a").Val())

	masters[1].FlushAll()
	require.True(t, redistest.Poll(func() bool {
		err = lease.Extend(t.Context())
		return err != nil || masters[1].Client().Get(t.Context(), "a").Val() == lease.Token()
	}))
	require.Error(t, err, "one of three is not enough: the second has no tenure, however soon it has the key")
}

// Nobody may wait for a client that is closed.
func TestCloseAmidTheWait(t *testing.T) {
	masters := redistest.Start(t, 3, redistest.AOF("always"))
	c := guarded(t, redistest.Addrs(masters))
	require.NoError(t, c.Init(t.Context()))
	masters[0].Restart()
	masters[1].Restart()
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Lock(t.Context(), "a", short)
		waiting <- err
	}()
	require.True(t, redistest.Poll(func() bool { return redlock.Waiting(c, "a") == 1 && votes(t, c) < 2 }))
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-waiting, redlock.ErrClosed)
	require.ErrorIs(t, c.Init(t.Context()), redlock.ErrClosed)
	require.ErrorIs(t, c.Health(t.Context())[0].Err, redlock.ErrClosed)
}
