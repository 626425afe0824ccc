package embedded_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/internal/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, n int) []*redis.Client {
	t.Helper()
	masters, err := embedded.Start(n)
	require.NoError(t, err)
	t.Cleanup(masters.Close)
	require.Len(t, masters.Addrs(), n)
	clients := make([]*redis.Client, n)
	for i, addr := range masters.Addrs() {
		clients[i] = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		t.Cleanup(func() { _ = clients[i].Close() })
	}
	return clients
}

func info(t *testing.T, c *redis.Client, field string, sections ...string) string {
	t.Helper()
	text, err := c.Info(t.Context(), sections...).Result()
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^` + field + `:(.*)\r$`).FindStringSubmatch(text)
	require.Len(t, found, 2, "no %s in %q", field, text)
	return found[1]
}

func TestEachMasterIsOneOfItsOwn(t *testing.T) {
	clients := start(t, 5)
	runs, replicas := map[string]bool{}, map[string]bool{}
	for _, c := range clients {
		run, replid := info(t, c, "run_id", "server"), info(t, c, "master_replid", "replication")
		assert.Regexp(t, `^[0-9a-f]{40}$`, run)
		assert.Regexp(t, `^[0-9a-f]{40}$`, replid)
		runs[run], replicas[replid] = true, true
		assert.Equal(t, run, info(t, c, "run_id", "server"), "it must not change")
	}
	assert.Len(t, runs, 5)
	assert.Len(t, replicas, 5)

	require.NoError(t, clients[0].Set(t.Context(), "a", "1", 0).Err())
	assert.Zero(t, clients[1].Exists(t.Context(), "a").Val(), "masters must not share keys")
}

func TestInfoLooksLikeAnIndependentMaster(t *testing.T) {
	c := start(t, 1)[0]
	for _, tt := range []struct{ section, field, want string }{
		{"server", "redis_mode", "standalone"},
		{"server", "redis_version", "7.0.15"},
		{"replication", "role", "master"},
		{"replication", "connected_slaves", "0"},
		{"memory", "maxmemory", "0"},
		{"MEMORY", "maxmemory_policy", "noeviction"},
		{"cluster", "cluster_enabled", "0"},
		{"everything", "role", "master"},
	} {
		assert.Equal(t, tt.want, info(t, c, tt.field, tt.section), "%s of section %s", tt.field, tt.section)
	}
	assert.Equal(t, "master", info(t, c, "role"), "without a section: all of them")
	assert.Equal(t, "0", info(t, c, "cluster_enabled", "server", "cluster"))
	assert.Empty(t, c.Info(t.Context(), "nonsense").Val())

	role, err := c.Do(t.Context(), "role").Slice()
	require.NoError(t, err)
	assert.Equal(t, []any{"master", int64(0), []any{}}, role)
}

func TestKeysEndWithTime(t *testing.T) {
	c := start(t, 1)[0]
	require.NoError(t, c.Set(t.Context(), "a", "1", 30*time.Millisecond).Err())
	assert.Equal(t, "1", c.Get(t.Context(), "a").Val())
	assert.Eventually(t, func() bool { return c.Exists(t.Context(), "a").Val() == 0 }, 5*time.Second, 5*time.Millisecond)
}

func TestScriptsRunByTheirHash(t *testing.T) {
	c := start(t, 1)[0]
	hash, err := c.ScriptLoad(t.Context(), "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 9000)").Result()
	require.NoError(t, err)
	require.NoError(t, c.EvalSha(t.Context(), hash, []string{"a"}, "token").Err())
	assert.Equal(t, "token", c.Get(t.Context(), "a").Val())
}

func TestKilledConnectionExecutesNothingMore(t *testing.T) {
	c := start(t, 1)[0]
	victim, other := c.Conn(), c.Conn()
	defer func() { _ = victim.Close(); _ = other.Close() }()
	id := clientID(t, victim)
	require.Positive(t, id)
	require.Equal(t, id, clientID(t, victim), "a connection keeps its number")
	require.NotEqual(t, id, clientID(t, other))

	killed, err := other.ClientKillByFilter(t.Context(), "id", itoa(id)).Result()
	require.NoError(t, err)
	assert.EqualValues(t, 1, killed)
	require.Error(t, victim.Set(t.Context(), "a", "late", 0).Err())
	assert.Zero(t, other.Exists(t.Context(), "a").Val(), "the killed connection has set a key")

	assert.Zero(t, other.ClientKillByFilter(t.Context(), "id", itoa(id)).Val(), "it is gone already")
	require.Error(t, other.ClientKillByFilter(t.Context(), "id", "x").Err())
	require.Error(t, other.ClientKillByFilter(t.Context(), "id").Err())
	require.NoError(t, other.Ping(t.Context()).Err(), "the other connection is sound")
}

func TestCommandsOfMiniredisStillWork(t *testing.T) {
	c := start(t, 1)[0].Conn()
	defer func() { _ = c.Close() }()
	require.NoError(t, c.ClientSetName(t.Context(), "me").Err())
	assert.Equal(t, "me", c.ClientGetName(t.Context()).Val())
}

func TestCloseEndsConnections(t *testing.T) {
	masters, err := embedded.Start(2)
	require.NoError(t, err)
	c := redis.NewClient(&redis.Options{Addr: masters.Addrs()[0], MaxRetries: -1})
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Ping(context.Background()).Err())
	masters.Close()
	masters.Close()
	require.Error(t, c.Ping(context.Background()).Err())
}

func clientID(t *testing.T, c *redis.Conn) int64 {
	t.Helper()
	id, err := c.ClientID(t.Context()).Result()
	require.NoError(t, err)
	return id
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
