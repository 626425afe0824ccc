package redlock_test

import (
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
