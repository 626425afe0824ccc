package redlock_test

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/redlock"
)

var three = []string{"a:1", "b:2", "c:3"}

func TestBadOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options redlock.Options
		want    string
		is      error
	}{
		{"no masters", redlock.Options{}, "no masters given", nil},
		{"an empty master", redlock.Options{Masters: []string{"a:1", "", "c:3"}}, "master 2 of 3", nil},
		{"no port", redlock.Options{Masters: []string{"localhost"}}, `want "host:port"`, nil},
		{"no host", redlock.Options{Masters: []string{":6379"}}, `want "host:port"`, nil},
		{"port 0", redlock.Options{Masters: []string{"a:0"}}, `want "host:port"`, nil},
		{"a port that is none", redlock.Options{Masters: []string{"a:99999"}}, `want "host:port"`, nil},
		{"another scheme", redlock.Options{Masters: []string{"http://a:1"}}, "redis://", nil},
		{"a socket", redlock.Options{Masters: []string{"unix:///tmp/x"}}, "redis://", nil},
		{"a URL without a host", redlock.Options{Masters: []string{"redis://:6379"}}, "redis://", nil},
		{"a database that is none", redlock.Options{Masters: []string{"redis://a:1/x"}}, "not valid", nil},
		{"a database twice removed", redlock.Options{Masters: []string{"redis://a:1/1/2"}}, "not valid", nil},
		{"one master twice", redlock.Options{Masters: []string{"a:1", "b:2", "a:1"}}, "masters 1 and 3 are both a:1", redlock.ErrUnsafe},
		{"in another spelling", redlock.Options{Masters: []string{"A:6379", "b:2", "redis://u:p@a"}}, "masters 1 and 3", redlock.ErrUnsafe},
		{"in another database", redlock.Options{Masters: []string{"redis://a:1/0", "redis://a:1/1"}}, "masters 1 and 2", redlock.ErrUnsafe},
		{"MaxTTL too short", redlock.Options{Masters: three, MaxTTL: 49 * time.Millisecond}, "MaxTTL is 49ms", nil},
		{"MaxTTL of parts of a millisecond", redlock.Options{Masters: three, MaxTTL: time.Second / 3}, "whole milliseconds", nil},
		{"MaxTTL of years", redlock.Options{Masters: three, MaxTTL: 1e18}, "at most 24h", nil},
		{"MaxTTL negative", redlock.Options{Masters: three, MaxTTL: -1}, "MaxTTL", nil},
		{"drift of all", redlock.Options{Masters: three, Drift: clock.Drift{Rate: 1}}, "drift rate", nil},
		{"drift that is no number", redlock.Options{Masters: three, Drift: clock.Drift{Rate: math.NaN()}}, "drift rate", nil},
		{"drift negative", redlock.Options{Masters: three, Drift: clock.Drift{Floor: -1}}, "drift floor", nil},
		{"drift that leaves nothing", redlock.Options{Masters: three, Drift: clock.Drift{Floor: time.Second}}, "leaves nothing", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := redlock.New(tt.options)
			require.ErrorContains(t, err, tt.want)
			assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err)
			assert.Nil(t, c)
			if tt.is != nil {
				assert.ErrorIs(t, err, tt.is)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for n, want := range map[int]string{1: "no failure is survived", 2: "no more failures than 1", 3: "", 4: "than 3", 5: ""} {
		c, err := redlock.New(redlock.Options{Masters: []string{"a:1", "b:1", "c:1", "d:1", "e:1"}[:n]})
		require.NoError(t, err)
		if want == "" {
			assert.Empty(t, c.Warnings())
		} else {
			assert.Contains(t, strings.Join(c.Warnings(), ""), want)
		}
		require.NoError(t, c.Close())
	}
}

// What can't be right is refused before a single connection is made.
func TestBadCalls(t *testing.T) {
	var dials atomic.Int32
	c, err := redlock.New(redlock.Options{
		Masters: three,
		Redis: func(o *redis.Options) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				return nil, errors.New("must not be dialed")
			}
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	done, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(context.Context) error { return nil }
	for _, tt := range []struct {
		name string
		call func() error
		want string
	}{
		{"no name", func() error { _, err := c.TryLock(t.Context(), "", time.Second); return err }, "the name is empty"},
		{"the name of the masters' own key", func() error { _, err := c.TryLock(t.Context(), "redlock:tenure", time.Second); return err }, "choose another name"},
		{"no name to wait for", func() error { _, err := c.Lock(t.Context(), "", time.Second); return err }, "the name is empty"},
		{"no names", func() error { _, err := c.LockAll(t.Context(), time.Second); return err }, "no name"},
		{"one of them empty", func() error { _, err := c.LockAll(t.Context(), time.Second, "a", ""); return err }, "the name is empty"},
		{"ttl 0", func() error { _, err := c.TryLock(t.Context(), "a", 0); return err }, "ttl is 0s"},
		{"ttl negative", func() error { _, err := c.Lock(t.Context(), "a", -time.Second); return err }, "ttl is -1s"},
		{"ttl without a unit", func() error { return c.Do(t.Context(), "a", 30, nothing) }, "at least 50ms"},
		{"ttl too long", func() error { _, err := c.TryLock(t.Context(), "a", 31*time.Second); return err }, "MaxTTL, which is 30s"},
		{"inspect nothing", func() error { _, err := c.Inspect(t.Context(), ""); return err }, "the name is empty"},
		{"unlock nothing", func() error { return c.Unlock(t.Context(), "", "t") }, "the name is empty"},
		{"unlock without a token", func() error { return c.Unlock(t.Context(), "a", "") }, "the token is empty"},
		{"a ctx that has ended", func() error { _, err := c.TryLock(done, "a", time.Second); return err }, "context canceled"},
		{"a wait that has ended", func() error { _, err := c.Lock(done, "a", time.Second); return err }, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call()
			require.ErrorContains(t, err, tt.want)
			var e *redlock.Error
			require.ErrorAs(t, err, &e)
			assert.Empty(t, e.Votes)
		})
	}
	assert.Zero(t, dials.Load())
}

// FuzzMasters looks for an entry that panics, or comes back in an error: it may hold a
// password.
func FuzzMasters(f *testing.F) {
	const secret = "s3cr3tpw"
	for _, s := range []string{
		"redis://u:" + secret + "@h:1", "rediss://:" + secret + "@h", "redis://u:" + secret + "@h:x/1", "redis://" + secret + ":@@/",
		"redis://:" + secret + "/w@h:1", "u:" + secret + "@h:1", "redis://[" + secret + "]:1", "redis://h:1/" + secret,
		"redis://h:1?db=" + secret, "redis://h:1?" + secret + "=1", "%zz" + secret, secret + "://h:1", "h:" + secret, "redis://u:%" + secret + "@h",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, master string) {
		c, err := redlock.New(redlock.Options{Masters: []string{master}})
		if err != nil {
			require.NotContains(t, err.Error(), secret)
			return
		}
		require.NoError(t, c.Close())
	})
}
