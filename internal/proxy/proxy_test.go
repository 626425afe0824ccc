package proxy_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// network returns a master, the network to it, and a client that reaches it through that.
func network(t *testing.T) (*redistest.Master, *proxy.Proxy, *redis.Client) {
	t.Helper()
	m := redistest.Start(t, 1)[0]
	p := proxy.Start(t, m.Addr())
	c := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, PoolSize: 1, ReadTimeout: 200 * time.Millisecond})
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, set(t, c, "warm")) // pipelines have connections of their own
	return m, p, c
}

func has(t *testing.T, m *redistest.Master, key string) bool {
	t.Helper()
	return m.Client().Exists(t.Context(), key).Val() == 1
}

// set sets several keys in one batch.
func set(t *testing.T, c *redis.Client, keys ...string) error {
	t.Helper()
	_, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for _, k := range keys {
			p.Set(t.Context(), k, "x\r\n$1\r\n", 0)
		}
		return nil
	})
	return err
}

func TestHold(t *testing.T) {
	m, p, c := network(t)
	p.Hold()
	require.Error(t, set(t, c, "a"))
	require.NoError(t, set(t, c, "b"), "a new connection is not held")
	assert.False(t, has(t, m, "a"))
	assert.EqualValues(t, 1, p.Held())
	p.Resume()
	assert.True(t, redistest.Poll(func() bool { return has(t, m, "a") }), "what was held is lost")
}

// isKey returns a judge of the commands on one key.
func isKey(key string, v proxy.Verdict) func([]string) proxy.Verdict {
	return func(command []string) proxy.Verdict {
		if len(command) > 1 && command[1] == key {
			return v
		}
		return proxy.Pass
	}
}

func TestJudge_HoldsOneCommandOfABatch(t *testing.T) {
	m, p, c := network(t)
	p.Judge(isKey("b", proxy.HoldBack))
	require.Error(t, set(t, c, "a", "b", "c"))
	assert.True(t, has(t, m, "a"))
	assert.False(t, has(t, m, "b") || has(t, m, "c"))
	p.Resume()
	assert.True(t, redistest.Poll(func() bool { return has(t, m, "b") && has(t, m, "c") }))
	require.NoError(t, set(t, c, "b"), "it is judged no more")
}

func TestJudge_Cuts(t *testing.T) {
	m, p, c := network(t)
	p.Judge(isKey("b", proxy.Cut))
	require.Error(t, set(t, c, "a", "b", "c"))
	assert.True(t, redistest.Poll(func() bool { return has(t, m, "a") }))
	assert.False(t, has(t, m, "b") || has(t, m, "c"))
}

func TestJudge_LosesTheReply(t *testing.T) {
	m, p, c := network(t)
	p.Judge(isKey("b", proxy.LoseReply))
	require.Error(t, set(t, c, "b"))
	assert.True(t, has(t, m, "b"), "it was to be executed")
	assert.Positive(t, p.Lost())
	require.NoError(t, set(t, c, "a"))
}

func TestLoseReplies(t *testing.T) {
	m, p, c := network(t)
	p.LoseReplies()
	require.Error(t, set(t, c, "a"))
	assert.True(t, has(t, m, "a"))
	p.Resume()
	require.NoError(t, set(t, c, "a"))
}

func TestDelay(t *testing.T) {
	m, p, c := network(t)
	p.Delay(150 * time.Millisecond) // there and back: more than the client waits for
	require.Error(t, set(t, c, "a"))
	assert.True(t, redistest.Poll(func() bool { return has(t, m, "a") }))
}

func TestLeadAndCut(t *testing.T) {
	_, p, c := network(t)
	other := redistest.Start(t, 1)[0]
	p.Lead(other.Addr())
	require.NoError(t, set(t, c, "a"))
	assert.False(t, has(t, other, "a"), "a connection that there is stays")
	p.Cut()
	require.True(t, redistest.Poll(func() bool { return set(t, c, "b") == nil }))
	assert.True(t, has(t, other, "b"))
}

func TestDelayReplies(t *testing.T) {
	m, p, c := network(t)
	p.DelayReplies(400 * time.Millisecond) // longer than the client waits
	require.Error(t, set(t, c, "a"))
	assert.True(t, has(t, m, "a"), "what is sent is not late")
	p.Resume()
	require.NoError(t, set(t, c, "b"))
}

func TestWatch_SeesWhatIsPassedOn(t *testing.T) {
	_, p, c := network(t)
	seen := make(chan string, 16)
	p.Watch(func(command []string) {
		if command[0] == "set" {
			seen <- command[1]
		}
	})
	p.Judge(isKey("c", proxy.HoldBack))
	require.Error(t, set(t, c, "a", "c"))
	assert.Equal(t, "a", <-seen)
	assert.Empty(t, seen, "c is held back")
	p.Resume()
	assert.Equal(t, "c", <-seen)
}
