package failover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

const (
	name = "invoices"
	long = 20 * time.Second // a ttl that no test outlasts
)

func TestMinorityKilledMidHold_LeaseAndExtensionSurviveAndOthersAreRefused(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		holder, other := newClient(t, masters), newClient(t, masters)
		const ttl = 3 * time.Second
		lease := lockOnAll(t, holder, masters, ttl)
		keysEnd := clock.System.Now().Add(ttl + clock.Grace) // if nothing extends them

		each(masters[:2], master.Kill)

		require.True(t, lease.Valid(), "the machine is too slow for a ttl of %v", ttl)
		refused(t, other, redlock.ErrHeld)
		require.True(t, redistest.Poll(func() bool {
			require.NoError(t, lease.Extend(t.Context()))
			return keysEnd.Before(clock.System.Now())
		}))
		refused(t, other, redlock.ErrHeld)
		assert.True(t, lease.Valid())

		require.NoError(t, lease.Release(t.Context()))
		enters(t, other)
	})
}

func TestMinorityHungMidHold_LeaseAndExtensionSurviveAndOthersAreRefused(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		holder, other := newClient(t, masters), newClient(t, masters)
		lease := lockOnAll(t, holder, masters, long)

		each(masters[:2], master.Stop)

		assert.True(t, lease.Valid(), "the lease did not survive")
		require.NoError(t, lease.Extend(t.Context()))
		refused(t, other, redlock.ErrHeld)
		require.NoError(t, lease.Release(t.Context()))
		enters(t, other)

		// What was sent to them meanwhile is executed late: it must not leave a
		// key that stands in the way.
		each(masters[:2], master.Cont)
		enters(t, holder)
		goneFromAll(t, masters)
	})
}

func TestMinorityRestartedEmptyMidHold_LeaseSurvivesAndOthersAreRefused(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		holder, other := newClient(t, masters), newClient(t, masters)
		lease := lockOnAll(t, holder, masters, long)

		each(masters[:2], master.Restart)

		for range 5 {
			refused(t, other, redlock.ErrHeld)
		}
		require.NoError(t, lease.Extend(t.Context()))
		assert.True(t, lease.Valid())
		require.NoError(t, lease.Release(t.Context()))
		enters(t, other)
	})
}

func TestMajorityKilledMidHold_NobodyEntersAndLeaseEndsAtItsDeadline(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		holder, other := newClient(t, masters), newClient(t, masters)
		const ttl = 5 * time.Second
		lease := lockOnAll(t, holder, masters, ttl)

		each(masters[:3], master.Kill)

		require.True(t, lease.Valid(), "the machine is too slow for a ttl of %v", ttl)
		deadline := clock.System.Now().Add(lease.Remaining())
		require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
		refused(t, other, redlock.ErrNoQuorum)

		// Whoever counts the two masters that are left must not get in, however
		// long ago their keys ended.
		<-lease.Context().Done()
		require.ErrorIs(t, context.Cause(lease.Context()), redlock.ErrExpired)
		assert.False(t, clock.System.Now().Before(deadline), "it ended before its deadline")
		assert.False(t, lease.Valid())
		assert.Zero(t, lease.Remaining())
		require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrExpired)
		goneFromAll(t, masters[3:])
		refused(t, other, redlock.ErrNoQuorum)
	})
}

func TestMajorityKilledMidHold_FailedExtensionDoesNotMoveTheDeadline(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		holder := newClient(t, masters)
		lease := lockOnAll(t, holder, masters, long)
		each(masters[:3], master.Kill)

		remaining := lease.Remaining()
		atLatest := clock.System.Now().Add(remaining)
		require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
		now := clock.System.Now()
		atEarliest := now.Add(lease.Remaining())
		assert.False(t, atLatest.Before(atEarliest), "the deadline moved by %v", atEarliest.Sub(atLatest))
	})
}

// Even a memory on disk may lack the last that was granted: nobody votes before that is
// over. The masters know who they are, so nobody has to tell them.
func TestMajorityKilledAndRestartedWithItsMemory_NobodyEntersBeforeTheWaitIsOver(t *testing.T) {
	onFive(t, persistent, func(t *testing.T, masters []master) {
		const maxTTL = 5 * time.Second // containers take seconds to come back
		initialise(t, masters, maxTTL)
		holder, other := clientOf(t, masters, maxTTL), clientOf(t, masters, maxTTL)
		lease, err := holder.Lock(t.Context(), name, maxTTL)
		require.NoError(t, err)

		each(masters[:3], master.Kill)
		each(masters[:3], master.Restart)

		require.ErrorIs(t, lease.Extend(t.Context()), redlock.ErrNoQuorum)
		next, err := other.Lock(t.Context(), name, maxTTL)
		require.NoError(t, err)
		assert.False(t, lease.Valid(), "two hold it")
		require.NoError(t, next.Release(t.Context()))
	})
}

func TestMajorityKilledAndRestartedEmpty_NobodyEntersBeforeAnOperatorSaysSo(t *testing.T) {
	onFive(t, forgetful, func(t *testing.T, masters []master) {
		c := newClient(t, masters)
		enters(t, c)

		each(masters[:3], master.Kill)
		refused(t, c, redlock.ErrNoQuorum)
		each(masters[:3], master.Restart)
		require.True(t, redistest.Poll(func() bool {
			_, err := c.TryLock(t.Context(), name, long)
			return errors.Is(err, redlock.ErrUnsafe)
		}))

		initialise(t, masters, redlock.DefaultMaxTTL)
		enters(t, c)
		findsAll(t, c)
		refusedUntilReleased(t, lockOnAll(t, c, masters, long), newClient(t, masters))
	})
}
