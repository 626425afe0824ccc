package failover_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// The masters are in networks of their own. Packets get lost, and nobody is told.
func TestPartition(t *testing.T) {
	masters := group(t, 5, redistest.Namespace(t))
	list := redistest.Addrs(masters)
	holder, other := clientWith(t, redlock.Options{Masters: list}), clientWith(t, redlock.Options{Masters: list})
	findsAll(t, other)
	lease, err := holder.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	kept := make(chan error, 1)
	go func() { kept <- lease.KeepAlive(t.Context()) }()

	t.Log("a minority is cut off")
	for _, m := range masters[:2] {
		m.Disconnect()
	}
	for range 20 {
		_, err := other.TryLock(t.Context(), name, soon)
		require.ErrorIs(t, err, redlock.ErrHeld)
	}
	require.True(t, lease.Valid(), "it was lost")

	t.Log("a majority is cut off")
	masters[2].Disconnect()
	require.ErrorIs(t, <-kept, redlock.ErrExpired)
	assert.False(t, lease.Valid())
	_, err = other.TryLock(t.Context(), name, soon)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)

	t.Log("all is well again")
	for _, m := range masters[:3] {
		m.Reconnect()
	}
	gets(t, other)
	assert.True(t, redistest.Poll(func() bool { return voting(other) == 5 }))
	gets(t, holder)
}
