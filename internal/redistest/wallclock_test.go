package redistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestStepClockEndsKeys(t *testing.T) {
	m := redistest.Start(t, 1, redistest.WallClock(t))[0]
	set(t, m)
	require.NoError(t, m.Client().Expire(t.Context(), "a", time.Minute).Err())
	m.StepClock(time.Hour)
	assert.False(t, has(t, m))
	set(t, m)
	require.NoError(t, m.Client().Expire(t.Context(), "a", time.Minute).Err())
	m.StepClock(-2 * time.Hour)
	assert.Greater(t, m.Client().TTL(t.Context(), "a").Val(), time.Hour)
	m.Restart()
	assert.InDelta(t, -time.Hour.Seconds(), time.Until(m.Client().Time(t.Context()).Val()).Seconds(), 5, "it was forgotten over a restart")
}

func TestRestartCut(t *testing.T) {
	m := redistest.Start(t, 1, redistest.AOF("always"))[0]
	set(t, m)
	length := m.Written()
	require.NoError(t, m.Client().Set(t.Context(), "later", "x", 0).Err())
	m.RestartCut(length)
	assert.True(t, has(t, m))
	assert.Zero(t, m.Client().Exists(t.Context(), "later").Val())
}

func TestDemotedAndPromotedAgain(t *testing.T) {
	both := redistest.Start(t, 2, redistest.Args("--repl-diskless-sync-delay", "0"))
	set(t, both[0])
	both[0].Follow(both[1])
	both[0].Promote(both[1])
	assert.False(t, has(t, both[0]), "it is a copy of an empty one")
	set(t, both[0])
}

func TestEvict(t *testing.T) {
	m := redistest.Start(t, 1)[0]
	set(t, m)
	require.NoError(t, m.Client().Expire(t.Context(), "a", time.Hour).Err())
	m.Evict("a")
	assert.NotContains(t, m.Client().Info(t.Context(), "stats").Val(), "evicted_keys:0\r", "it did not evict the key")
}
