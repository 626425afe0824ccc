package failover_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/locks"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// What must hold when the network between a client and the masters loses, holds back, or
// delays what is sent.

// through returns a network of one client's own to each master.
func through(t *testing.T, masters []*redistest.Master) []*proxy.Proxy {
	t.Helper()
	var fronts []*proxy.Proxy
	for _, m := range masters {
		fronts = append(fronts, proxy.Start(t, m.Addr()))
	}
	return fronts
}

// apart returns five masters, a client with a network of its own to each, and another client.
func apart(t *testing.T) (masters []*redistest.Master, fronts []*proxy.Proxy, c, other *redlock.Client) {
	t.Helper()
	masters = group(t, 5)
	fronts = through(t, masters)
	return masters, fronts, clientWith(t, redlock.Options{Masters: redistest.Addrs(fronts)}), clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)})
}

// isCommand returns a judge of commands with one of these names.
func isCommand(verdict proxy.Verdict, names ...string) func([]string) proxy.Verdict {
	return func(command []string) proxy.Verdict {
		for _, n := range names {
			if strings.EqualFold(command[0], n) {
				return verdict
			}
		}
		return proxy.Pass
	}
}

func TestHolderCutFromAMinority_KeepsTheLock(t *testing.T) {
	_, fronts, holder, other := apart(t)
	lease, err := holder.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	fronts[0].Hold()
	fronts[1].LoseReplies()
	for end := time.Now().Add(2 * soon); time.Now().Before(end); time.Sleep(soon / 10) {
		require.NoError(t, lease.Extend(t.Context()))
		_, err := other.TryLock(t.Context(), name, soon)
		require.ErrorIs(t, err, redlock.ErrHeld)
	}
	assert.Positive(t, fronts[0].Held()+fronts[1].Lost(), "nothing was cut off")
	require.NoError(t, lease.Release(t.Context()))
	gets(t, other)
}

func TestHolderCutFromAMajority_LosesTheLockInTime(t *testing.T) {
	masters, fronts, holder, other := apart(t)
	lease, err := holder.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	for _, f := range fronts[:3] {
		f.LoseReplies() // the extensions arrive: the keys live on, and the holder does not know
	}
	kept := make(chan error, 1)
	go func() { kept <- lease.KeepAlive(t.Context()) }()
	theirs, err := other.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	assert.False(t, lease.Valid(), "two hold it")
	require.ErrorIs(t, <-kept, redlock.ErrExpired)
	assert.Positive(t, fronts[0].Lost())
	before := keeping(masters, theirs)
	require.Error(t, lease.Release(t.Context()))
	assert.Equal(t, before, keeping(masters, theirs), "the late release took another's keys")
}

// keeping returns which masters have the key of a lease.
func keeping(masters []*redistest.Master, lease *redlock.Lease) (addrs []string) {
	for _, m := range masters {
		if m.Client().Get(context.Background(), name).Val() == lease.Token() {
			addrs = append(addrs, m.Addr())
		}
	}
	return addrs
}

// Every vote is a grant, and comes after the lease would have ended.
func TestVotesThatComeTooLate_AreNoLock(t *testing.T) {
	masters, fronts, c, other := apart(t)
	gets(t, c)
	for _, f := range fronts {
		f.Delay(100 * time.Millisecond)
	}
	lease, err := c.TryLock(t.Context(), name, 150*time.Millisecond)
	require.Nil(t, lease)
	require.Error(t, err) // ErrExpired, or ErrNoQuorum where it took so long that clocks can't be told
	for _, m := range masters {
		assert.Zero(t, m.Client().Exists(t.Context(), name).Val(), "a key was left behind")
	}
	gets(t, other)
}

// The SETs of an attempt that was given up arrive when nobody waits for them any more.
func TestLateSETs_LockNothing(t *testing.T) {
	masters, fronts, c, other := apart(t)
	gets(t, c)
	for _, f := range fronts {
		f.Judge(isCommand(proxy.HoldBack, "set"))
	}
	lease, err := c.TryLock(t.Context(), name, soon)
	require.Nil(t, lease)
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	findsAll(t, other)
	for _, f := range fronts {
		require.Positive(t, f.Held(), "no SET was held back")
		f.Resume()
	}
	findsAll(t, c) // over new connections, which end what was held back on the old ones
	gets(t, other)
	for _, m := range masters {
		assert.True(t, redistest.Poll(func() bool { return m.Client().Exists(t.Context(), name).Val() == 0 }))
	}
}

// An extension arrives when the lock was let go: it must not bring back the key.
func TestLateExtension_BringsNothingBack(t *testing.T) {
	masters, fronts, c, other := apart(t)
	lease, err := c.Lock(t.Context(), name, soon)
	require.NoError(t, err)
	for _, f := range fronts[:3] {
		f.Judge(isCommand(proxy.HoldBack, "evalsha"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, lease.Extend(ctx), context.DeadlineExceeded)
	released := make(chan error, 1)
	go func() { released <- lease.Release(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	for _, f := range fronts[:3] {
		require.Positive(t, f.Held(), "no extension was held back")
		f.Resume()
	}
	<-released // ErrNoQuorum, if the connections were given up before: the releases come later
	for _, m := range masters {
		assert.True(t, redistest.Poll(func() bool { return m.Client().Exists(t.Context(), name).Val() == 0 }))
	}
	gets(t, other)
}

// A was refused, and its release of that attempt is late. It then gets the lock, on masters
// 2 and 3, as its SET to 1 is lost. The late release arrives at 3: with a token that is the
// same for all attempts it deletes A's key, and C enters.
func TestLateReleaseOfAnEarlierAttempt(t *testing.T) {
	const long = 4 * time.Second
	for _, tt := range []struct {
		kind string
		both bool
	}{{locks.OneToken, true}, {locks.Textbook, false}, {locks.Unguarded, false}, {locks.Ours, false}, {locks.OursFenced, false}} {
		t.Run(tt.kind, func(t *testing.T) {
			masters := redistest.Start(t, 3)
			require.NoError(t, clientWith(t, redlock.Options{Masters: redistest.Addrs(masters), MaxTTL: long}).Init(t.Context()))
			open := func(addrs []string) locks.Lock {
				l, err := locks.Open(tt.kind, locks.Config{Masters: addrs, MaxTTL: long})
				require.NoError(t, err)
				t.Cleanup(func() { _ = l.Close() })
				return l
			}
			fronts := through(t, masters)
			a, others := open(redistest.Addrs(fronts)), open(redistest.Addrs(masters))
			b, err := others.Acquire(t.Context(), name, long)
			require.NoError(t, err)
			var released atomic.Bool // A's first release was sent
			fronts[2].Judge(func(command []string) proxy.Verdict {
				if isRelease(command) && released.CompareAndSwap(false, true) {
					return proxy.HoldBack
				}
				return proxy.Pass
			})
			got := make(chan locks.Held, 1)
			go func() {
				held, _ := a.Acquire(t.Context(), name, long)
				got <- held
			}()
			require.True(t, redistest.Poll(func() bool { return fronts[2].Held() > 0 }), "A sends no release")
			fronts[0].Judge(func(command []string) proxy.Verdict {
				if isLock(command) {
					return proxy.Cut
				}
				return proxy.Pass
			})
			require.NoError(t, b.Release(t.Context()))
			time.Sleep(700 * time.Millisecond) // A gives up waiting for that master, or has the lock
			fronts[2].Resume()
			held := <-got
			require.NotNil(t, held)
			time.Sleep(50 * time.Millisecond) // the late release arrives
			ctx, cancel := context.WithTimeout(t.Context(), held.Until().Sub(clock.System.Now())-100*time.Millisecond)
			defer cancel()
			_, err = others.Acquire(ctx, name, long)
			assert.Equal(t, tt.both, err == nil, "%v", err)
		})
	}
}

// isLock reports whether a command takes the lock: a SET, or a script with more arguments
// than those that release have.
func isLock(command []string) bool {
	return strings.EqualFold(command[0], "set") || strings.EqualFold(command[0], "evalsha") && len(command) > 6
}

func isRelease(command []string) bool {
	return strings.EqualFold(command[0], "evalsha") && !isLock(command) && command[3] == name
}

// With an even number of masters two clients can get half of them each. Neither has the
// lock, and that must come to an end.
func TestTie_IsSettled(t *testing.T) {
	masters := group(t, 4)
	const rounds = 30
	var holders atomic.Int32
	done := make(chan error, 2)
	for range 2 {
		c := clientWith(t, redlock.Options{Masters: redistest.Addrs(masters)})
		go func() {
			for range rounds {
				lease, err := c.Lock(t.Context(), name, soon)
				if err != nil {
					done <- err
					return
				}
				if holders.Add(1) > 1 {
					done <- errors.New("two hold it")
					return
				}
				holders.Add(-1)
				_ = lease.Release(t.Context())
			}
			done <- nil
		}()
	}
	for range 2 {
		require.NoError(t, <-done)
	}
}
