package redlock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// What comes late, or from one who should not have come, must do no harm.

// A client that takes less for MaxTTL is refused. It must not cut others' keys either.
func TestAnotherMaxTTLCutsNoKeys(t *testing.T) {
	masters := start(t, 3)
	list := redistest.Addrs(masters)
	lease, err := connect(t, list).TryLock(t.Context(), "a", long)
	require.NoError(t, err)
	wrong := connectWith(t, redlock.Options{Masters: list, MaxTTL: 200 * time.Millisecond})

	_, err = wrong.TryLock(t.Context(), "a", 200*time.Millisecond)
	require.ErrorIs(t, err, redlock.ErrUnsafe, "it is told at once, also where the lock is held")
	require.ErrorIs(t, wrong.Unlock(t.Context(), "a", "another token"), redlock.ErrNotHeld)
	for _, m := range masters {
		assert.Greater(t, m.Client().PTTL(t.Context(), "a").Val(), lease.Remaining())
	}
}

// What an error says does not change when votes come after it was returned.
func TestErrorStaysAsItWas(t *testing.T) {
	masters := start(t, 3)
	lease, err := connect(t, redistest.Addrs(masters)).TryLock(t.Context(), "a", long)
	require.NoError(t, err)
	for _, m := range masters {
		m.Stop()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	failed, ok := errors.AsType[*redlock.Error](lease.Extend(ctx))
	require.True(t, ok)
	said := failed.Error()
	for _, m := range masters {
		m.Cont()
	}
	require.True(t, redistest.Poll(func() bool { return lease.Extend(t.Context()) == nil }))
	assert.Equal(t, said, failed.Error())
}

// A master that was down has its key from an extension alone. It is away again when the
// lock is let go, and gets the release when it is back.
func TestKeyOfAnExtensionIsReleasedToo(t *testing.T) {
	masters := start(t, 3)
	list := redistest.Addrs(masters)
	var cut atomic.Bool
	var wire atomic.Pointer[net.Conn]
	c := connectWith(t, redlock.Options{Masters: list, Redis: func(o *redis.Options) {
		if o.Addr != list[2] {
			return
		}
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			if cut.Load() {
				return nil, net.ErrClosed
			}
			conn, err := net.Dial("tcp", o.Addr)
			if err == nil {
				wire.Store(&conn)
			}
			return conn, err
		}
	}})
	there := func() bool { return masters[2].Client().Exists(t.Context(), "a").Val() == 1 }
	cut.Store(true)
	lease, err := c.TryLock(t.Context(), "a", long)
	require.NoError(t, err)
	cut.Store(false)
	require.True(t, redistest.Poll(func() bool { return lease.Extend(t.Context()) == nil && there() }))
	cut.Store(true)
	_ = (*wire.Load()).Close()
	require.NoError(t, lease.Release(t.Context()))
	cut.Store(false)
	assert.True(t, redistest.Poll(func() bool { return !there() }), "the key was left behind")
}
