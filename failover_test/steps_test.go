package failover_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// lockOnAll takes the lock, and waits until all masters have it and not only the
// majority: so a test knows what its fault takes away.
func lockOnAll(t *testing.T, c *redlock.Client, masters []master, ttl time.Duration) *redlock.Lease {
	t.Helper()
	lease, err := c.TryLock(t.Context(), name, ttl)
	require.NoError(t, err)
	for _, m := range masters {
		require.True(t, redistest.Poll(func() bool {
			return m.Client().Get(t.Context(), name).Val() == lease.Token()
		}), "master %s never got the lock", m.Addr())
	}
	return lease
}

// findsAll waits until c is connected to every master: to those that are back it
// connects in the background.
func findsAll(t *testing.T, c *redlock.Client) {
	t.Helper()
	var holdings []redlock.Holding
	require.True(t, redistest.Poll(func() bool {
		holdings, _ = c.Inspect(t.Context(), name)
		return !slices.ContainsFunc(holdings, func(h redlock.Holding) bool { return h.Err != nil })
	}), "it does not find all masters: %v", holdings)
}

// refused demands that c does not get the lock, for this reason.
func refused(t *testing.T, c *redlock.Client, why error) {
	t.Helper()
	lease, err := c.TryLock(t.Context(), name, long)
	require.Nil(t, lease, "it entered")
	require.ErrorIs(t, err, why)
}

// enters demands that c gets the lock, and lets it go again. That may take a while after
// a restart.
func enters(t *testing.T, c *redlock.Client) {
	t.Helper()
	var lease *redlock.Lease
	var err error
	require.True(t, redistest.Poll(func() bool {
		lease, err = c.TryLock(t.Context(), name, long)
		return err == nil
	}), "it never enters: %v", err)
	assert.True(t, lease.Valid())
	require.NoError(t, lease.Release(t.Context()))
}

// refusedUntilReleased demands that the lock excludes: other gets it only after lease.
func refusedUntilReleased(t *testing.T, lease *redlock.Lease, other *redlock.Client) {
	t.Helper()
	require.True(t, redistest.Poll(func() bool {
		l, err := other.TryLock(t.Context(), name, long)
		require.Nil(t, l, "a second holder, while the lease is valid")
		return errors.Is(err, redlock.ErrHeld) // ErrNoQuorum until its lanes are up
	}))
	assert.True(t, lease.Valid())
	require.NoError(t, lease.Release(t.Context()))
	enters(t, other)
}

// goneFromAll demands that no master has the key any more, or not for long.
func goneFromAll(t *testing.T, masters []master) {
	t.Helper()
	for _, m := range masters {
		assert.True(t, redistest.Poll(func() bool {
			n, err := m.Client().Exists(t.Context(), name).Result()
			return err == nil && n == 0
		}), "master %s still has the key", m.Addr())
	}
}
