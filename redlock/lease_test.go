package redlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock/clocktest"
	"github.com/quorumlock/redlock-go/internal/embedded"
	"github.com/quorumlock/redlock-go/redlock"
)

// These run in a bubble, with time of their own: a whole client, its lanes, and masters
// in memory.

const (
	ttl      = 10 * time.Second
	validity = ttl - ttl/100 - 2*time.Millisecond
)

// bubble is what a test has in there.
type bubble struct {
	*testing.T
	masters *embedded.Memory
	clock   *clocktest.Clock
	client  *redlock.Client

	mu     sync.Mutex // guards what follows
	events []string
}

func inBubble(t *testing.T, f func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, masters: embedded.InMemory(5), clock: clocktest.New()}
		var err error
		b.client, err = redlock.New(redlock.Options{
			Masters:   b.masters.Addrs(),
			Clock:     b.clock,
			Unguarded: true,
			Redis:     func(o *redis.Options) { o.Dialer = b.masters.Dial },
			Trace: &redlock.Trace{
				Held:     func(l *redlock.Lease) { b.event("held", l) },
				Extended: func(l *redlock.Lease) { b.event("extended", l) },
				Lost:     func(l *redlock.Lease, cause error) { b.event("lost: "+cause.Error(), l) },
				Released: func(l *redlock.Lease) { b.event("released", l) },
			},
		})
		require.NoError(t, err)
		f(b)
		require.NoError(t, b.client.Close())
		b.masters.Close()
	})
}

// event also calls what a hook may call.
func (b *bubble) event(what string, l *redlock.Lease) {
	_, _, _ = l.Valid(), l.Context(), l.Remaining()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, what)
}

func (b *bubble) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

func (b *bubble) lock() *redlock.Lease {
	b.Helper()
	l, err := b.client.TryLock(b.Context(), "name", ttl)
	require.NoError(b, err)
	return l
}

func (b *bubble) majorityAway(away bool) {
	for i := range 3 {
		b.masters.SetAway(i, away)
	}
}

func TestValidityEndsAtTheDeadline(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		ctx := l.Context()
		assert.Equal(t, validity, l.Remaining())
		time.Sleep(validity - time.Nanosecond)
		assert.True(t, l.Valid())
		assert.NoError(t, ctx.Err())
		time.Sleep(time.Nanosecond)
		assert.False(t, l.Valid())
		assert.Zero(t, l.Remaining())
		time.Sleep(time.Millisecond)
		assert.ErrorIs(t, context.Cause(ctx), redlock.ErrExpired)
		assert.ErrorIs(t, context.Cause(l.Context()), redlock.ErrExpired)
		assert.Equal(t, 1, b.masters.Keys(0), "keys outlive leases")
		time.Sleep(time.Second)
		assert.Zero(t, b.masters.Keys(0))
		assert.ErrorIs(t, l.Release(b.Context()), redlock.ErrExpired)
		assert.NoError(t, l.Release(b.Context()))
		assert.Equal(t, []string{"held", "lost: expired", "released"}, b.seen())
	})
}

func TestExtendMovesTheDeadline(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		ctx := l.Context()
		time.Sleep(validity / 2)
		require.NoError(t, l.Extend(b.Context()))
		assert.Equal(t, validity, l.Remaining())
		time.Sleep(validity - time.Nanosecond)
		assert.NoError(t, ctx.Err(), "the context moved along")
		time.Sleep(2 * time.Millisecond)
		assert.Error(t, ctx.Err())
		assert.ErrorIs(t, l.Extend(b.Context()), redlock.ErrExpired, "once it is over it stays over")
		assert.False(t, l.Valid())
	})
}

func TestExtensionThatFailsLeavesTheOldDeadline(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		time.Sleep(time.Second)
		b.majorityAway(true)
		require.ErrorIs(t, l.Extend(b.Context()), redlock.ErrNoQuorum)
		assert.Equal(t, validity-time.Second, l.Remaining())
		b.majorityAway(false)
		time.Sleep(2 * time.Second)
		require.NoError(t, l.Extend(b.Context()), "another try may succeed")
	})
}

func TestMajorityThatForgotEndsTheLease(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		ctx := l.Context()
		time.Sleep(time.Millisecond) // for all five to have it
		for i := range 3 {
			b.masters.Forget(i)
		}
		require.ErrorIs(t, l.Extend(b.Context()), redlock.ErrNotHeld)
		assert.False(t, l.Valid())
		assert.ErrorIs(t, context.Cause(ctx), redlock.ErrNotHeld)
		assert.Equal(t, []string{"held", "lost: not held"}, b.seen())
		assert.Zero(t, b.masters.Keys(0), "nothing was put back")
	})
}

func TestMinorityThatForgotDoesNotCount(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		time.Sleep(time.Millisecond) // for all five to have it
		b.masters.Forget(0)
		b.masters.Forget(1)
		require.NoError(t, l.Extend(b.Context()))
		b.masters.SetAway(4, true)
		require.ErrorIs(t, l.Extend(b.Context()), redlock.ErrNoQuorum, "two remember")
		assert.True(t, l.Valid())
	})
}

func TestSuspendedMachineHasLostItsLease(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		ctx := l.Context()
		b.clock.Suspend(validity)
		assert.False(t, l.Valid())
		assert.ErrorIs(t, l.Extend(b.Context()), redlock.ErrExpired)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(ctx), redlock.ErrExpired, "the timers notice within a second")
	})
}

func TestRelease(t *testing.T) {
	inBubble(t, func(b *bubble) {
		var none *redlock.Lease
		require.NoError(t, none.Release(b.Context()), "nil-safe")

		l := b.lock()
		assert.Equal(t, "name", l.Name())
		assert.Len(t, l.Token(), 36)
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		require.NoError(t, l.Release(ctx), "works with a ctx that has ended")
		require.NoError(t, l.Release(ctx), "idempotent")
		assert.False(t, l.Valid())
		assert.Equal(t, context.Canceled, context.Cause(l.Context()))
		assert.ErrorIs(t, l.Extend(b.Context()), redlock.ErrNotHeld)
		synctest.Wait()
		for i := range 5 {
			assert.Zero(t, b.masters.Keys(i))
		}
		assert.NotEqual(t, l.Token(), b.lock().Token())
	})
}

func TestReleaseWithoutQuorum(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		time.Sleep(time.Millisecond)
		b.majorityAway(true)
		require.ErrorIs(t, l.Release(b.Context()), redlock.ErrNoQuorum)
		b.majorityAway(false)
		time.Sleep(2 * time.Second)
		for i := range 5 {
			assert.Zero(t, b.masters.Keys(i), "master %d got it when it was back", i+1)
		}
	})
}

func TestKeepAlive(t *testing.T) {
	inBubble(t, func(b *bubble) {
		l := b.lock()
		ctx, cancel := context.WithCancel(b.Context())
		kept := make(chan error, 1)
		go func() { kept <- l.KeepAlive(ctx) }()
		time.Sleep(time.Hour)
		assert.True(t, l.Valid())
		assert.InDelta(t, float64(time.Hour/(ttl/3)), float64(len(b.seen())), 3, "a third of the ttl apart")

		b.majorityAway(true) // for less than it is valid
		time.Sleep(validity / 2)
		b.majorityAway(false)
		time.Sleep(time.Hour)
		assert.True(t, l.Valid())

		cancel()
		require.NoError(t, <-kept)
		assert.True(t, l.Valid(), "until its deadline")
	})
}

func TestKeepAliveEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(b *bubble, l *redlock.Lease)
		want error
		in   time.Duration // at the latest
	}{
		{"nil when it is released", func(b *bubble, l *redlock.Lease) { _ = l.Release(b.Context()) }, nil, 0},
		{"when no majority answers until the deadline", func(b *bubble, _ *redlock.Lease) { b.majorityAway(true) }, redlock.ErrExpired, validity + time.Millisecond},
		{"at once when a majority has forgotten", func(b *bubble, _ *redlock.Lease) {
			for i := range 3 {
				b.masters.Forget(i)
			}
		}, redlock.ErrNotHeld, ttl/3 + time.Millisecond},
		{"after a suspend", func(b *bubble, _ *redlock.Lease) { b.clock.Suspend(ttl) }, redlock.ErrExpired, time.Second},
		{"when the client is closed", func(b *bubble, _ *redlock.Lease) { _ = b.client.Close() }, redlock.ErrClosed, ttl / 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				l := b.lock()
				kept := make(chan error, 1)
				go func() { kept <- l.KeepAlive(b.Context()) }()
				synctest.Wait()
				tt.do(b, l)
				began := time.Now()
				err := <-kept
				assert.LessOrEqual(t, time.Since(began), tt.in)
				if tt.want == nil {
					assert.NoError(t, err)
				} else {
					assert.ErrorIs(t, err, tt.want)
				}
			})
		})
	}
}

func TestDo(t *testing.T) {
	boom := errors.New("boom")
	t.Run("keeps the lock while f runs, and lets go", func(t *testing.T) {
		inBubble(t, func(b *bubble) {
			err := b.client.Do(b.Context(), "name", ttl, func(ctx context.Context) error {
				l, ok := redlock.FromContext(ctx)
				require.True(t, ok)
				time.Sleep(time.Hour)
				assert.True(t, l.Valid())
				return boom
			})
			assert.Equal(t, boom, err)
			synctest.Wait()
			assert.Zero(t, b.masters.Keys(0))
		})
	})
	t.Run("ends f when the lock is lost", func(t *testing.T) {
		inBubble(t, func(b *bubble) {
			err := b.client.Do(b.Context(), "name", ttl, func(ctx context.Context) error {
				b.majorityAway(true)
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), redlock.ErrExpired)
				return boom
			})
			assert.ErrorIs(t, err, boom)
			assert.ErrorIs(t, err, redlock.ErrExpired)
			assert.ErrorIs(t, err, redlock.ErrNoQuorum, "and why it could not be extended")
		})
	})
	t.Run("tells of a loss that f did not notice", func(t *testing.T) {
		inBubble(t, func(b *bubble) {
			err := b.client.Do(b.Context(), "name", ttl, func(context.Context) error {
				b.clock.Suspend(ttl)
				return nil
			})
			assert.ErrorIs(t, err, redlock.ErrExpired)
		})
	})
	t.Run("keeps the lock until f has cleaned up", func(t *testing.T) {
		inBubble(t, func(b *bubble) {
			ctx, cancel := context.WithCancel(b.Context())
			err := b.client.Do(ctx, "name", ttl, func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				l, _ := redlock.FromContext(ctx)
				time.Sleep(time.Minute)
				assert.True(t, l.Valid())
				return ctx.Err()
			})
			assert.Equal(t, context.Canceled, err)
		})
	})
	t.Run("lets go when f panics", func(t *testing.T) {
		inBubble(t, func(b *bubble) {
			assert.PanicsWithValue(t, "boom", func() {
				_ = b.client.Do(b.Context(), "name", ttl, func(context.Context) error { panic("boom") })
			})
			require.NoError(t, b.lock().Release(b.Context()))
		})
	})
}

func TestFromContext(t *testing.T) {
	inBubble(t, func(b *bubble) {
		_, ok := redlock.FromContext(b.Context())
		assert.False(t, ok)
		l := b.lock()
		got, ok := redlock.FromContext(l.Context())
		assert.True(t, ok)
		assert.Same(t, l, got)
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(b.Context(), key{}, "v"))
		other, err := b.client.TryLock(ctx, "other", ttl)
		require.NoError(t, err)
		cancel()
		assert.NoError(t, other.Context().Err(), "the ctx of the call is not the lease's")
		assert.Equal(t, "v", other.Context().Value(key{}), "but its values are")
	})
}
