package failover_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// What must hold when masters come back, go, or change places.

const soon = time.Second // a MaxTTL whose wait tests can sit out

// group returns masters that an operator has made a group.
func group(t *testing.T, n int, options ...redistest.Option) []*redistest.Master {
	t.Helper()
	masters := redistest.Start(t, n, options...)
	require.NoError(t, clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)}).Init(t.Context()))
	return masters
}

func clientWith(t *testing.T, o redlock.Options) *redlock.Client {
	t.Helper()
	if o.MaxTTL == 0 {
		o.MaxTTL = soon
	}
	c, err := redlock.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// gets demands that c gets the lock.
func gets(t *testing.T, c *redlock.Client) {
	t.Helper()
	lease, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.NoError(t, lease.Release(t.Context()))
}

// A lease that is kept alive outlives a restart of all the masters, empty, one after
// another.
func TestLeaseOutlivesARollingRestart(t *testing.T) {
	masters := group(t, 5)
	holder, other := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)}), clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)})
	lease, err := holder.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	lost := make(chan error, 1)
	go func() { lost <- lease.KeepAlive(t.Context()) }()
	for _, m := range masters {
		m.Restart()
		require.True(t, redistest.Poll(func() bool { return voting(other) == 4 }))
		require.True(t, redistest.Poll(func() bool {
			theirs, err := other.TryLock(t.Context(), name, soon)
			require.Error(t, err, "two hold it")
			require.NoError(t, theirs.Release(t.Context()))
			return voting(other) == 5
		}))
	}
	require.True(t, lease.Valid(), "it was lost")
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, <-lost)
	gets(t, other)
}

// Nobody is there for as long as the wait takes. It goes on all the same.
func TestAMasterRejoinsAmongClientsThatLiveForAMoment(t *testing.T) {
	masters := group(t, 5)
	masters[2].Restart()
	for lives := 0; ; lives++ {
		require.Less(t, lives, 100, "it has no vote after so many clients")
		c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)})
		all := voting(c)
		lease, err := c.Lock(t.Context(), name, soon)
		require.NoError(t, err)
		require.NoError(t, lease.Release(t.Context()))
		require.NoError(t, c.Close())
		if all == 5 {
			assert.Positive(t, lives)
			return
		}
		time.Sleep(200 * time.Millisecond) // until cron starts the next one
	}
}

// still is a clock that stood still for a time, and does not know.
type still struct{ behind atomic.Int64 }

func (s *still) Now() clock.Instant { return clock.System.Now().Add(-time.Duration(s.behind.Load())) }

// A client whose clock stood still takes tenure from nobody, and gives up its leases:
// others have them by now.
func TestAClientWhoseClockStoodStillAccusesNobody(t *testing.T) {
	masters := group(t, 5)
	own := &still{}
	c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters), Clock: own})
	other := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)})
	lease, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	own.behind.Store(int64(20 * time.Second))
	require.True(t, lease.Valid(), "by its own clock")
	require.Error(t, lease.Extend(t.Context()))
	<-lease.Context().Done()
	assert.False(t, lease.Valid())
	require.ErrorIs(t, cause(lease), redlock.ErrExpired)
	for range 10 {
		assert.Equal(t, 5, voting(other))
		assert.Equal(t, 5, voting(c))
	}
	gets(t, c)
}

func TestAClockThatWasSetBackLocksNothingForLong(t *testing.T) {
	masters := group(t, 3, redistest.WallClock(t))
	list := redistest.Addrs(masters)
	dead := clientWith(t, redlock.Options{Masters: list})
	lease, err := dead.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	masters[0].StepClock(-time.Hour)
	c := clientWith(t, redlock.Options{Masters: list})
	_, err = c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	assert.False(t, lease.Valid(), "two hold it")
	require.True(t, redistest.Poll(func() bool {
		_, _ = c.TryLock(t.Context(), name, soon) // whoever looks cuts what lives too long
		return masters[0].Client().Get(t.Context(), name).Val() != lease.Token()
	}), "the key of a dead holder lives on")
}

// The second client has another idea of the masters. It is told, and gets nothing.
func TestClientsMustAgree(t *testing.T) {
	masters := group(t, 5)
	list := redistest.Addrs(masters)
	others := group(t, 2)
	for _, tt := range []struct {
		name    string
		options redlock.Options
		says    string
	}{
		{"another MaxTTL", redlock.Options{Masters: list, MaxTTL: 2 * soon}, "its MaxTTL is 1s, and this client's is 2s"},
		{"three of the five", redlock.Options{Masters: list[:3]}, "it is one of 5 masters, and this client has a list of 3"},
		{"three of the five, and two others", redlock.Options{Masters: append(redistest.Addrs(others), list[:3]...)}, "it is one of 2 masters"},
		{"two more", redlock.Options{Masters: append(redistest.Addrs(others), list...)}, "it is one of 5 masters, and this client has a list of 7"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := clientWith(t, redlock.Options{Masters: list}).Lock(t.Context(), tt.name, soon)
			require.NoError(t, err)
			c := clientWith(t, tt.options)
			lease, err := c.TryLock(t.Context(), tt.name, soon)
			require.Nil(t, lease)
			if tt.name == "three of the five, and two others" {
				require.ErrorContains(t, err, "held by another")
				return // three of five have tenure together: the list is a wrong one, and can do no harm
			}
			require.ErrorIs(t, err, redlock.ErrUnsafe, "it is told at once, also where the lock is held")
			_, err = c.TryLock(t.Context(), tt.name+" again", soon)
			require.ErrorIs(t, err, redlock.ErrUnsafe)
			require.ErrorContains(t, err, tt.says)
		})
	}
}

// The fifth is replaced, and comes back empty, while a client with the old list is there.
func TestReplacedMasterComesBack(t *testing.T) {
	masters := group(t, 5)
	list := redistest.Addrs(masters)
	old := clientWith(t, redlock.Options{Masters: list})
	gets(t, old)
	sixth := redistest.Start(t, 1)[0]
	renewed := append(append([]string{}, list[:4]...), sixth.Addr())
	lease, err := old.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	lost := make(chan error, 1)
	go func() { lost <- lease.KeepAlive(t.Context()) }()

	require.NoError(t, clientWith(t, redlock.Options{Masters: renewed}).Replace(t.Context(), list[4], sixth.Addr()))
	c := clientWith(t, redlock.Options{Masters: renewed})
	require.Equal(t, 5, voting(c))
	masters[4].Restart()
	require.True(t, redistest.Poll(func() bool { return voting(old) == 4 }))
	began := time.Now()
	for time.Since(began) < 3*soon {
		theirs, err := c.TryLock(t.Context(), name, soon)
		require.Error(t, err, "two hold it")
		require.NoError(t, theirs.Release(t.Context()))
		require.Equal(t, 4, voting(old), "the old master votes again")
		require.Equal(t, 5, voting(c))
	}
	require.True(t, lease.Valid())
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, <-lost)
}
