package master_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

func askFenced(m *master.Master, token string, hint uint64, keys ...string) master.Reply {
	return ask(m, master.NewFenced(keys, token, time.Minute, hint, clock.Never))
}

func askCountUp(m *master.Master, token string, fence uint64, keys ...string) master.Reply {
	return ask(m, master.NewCountUp(keys, token, fence, clock.Never))
}

func askRelease(m *master.Master, keys ...string) {
	ask(m, master.NewRelease(keys, "t", clock.Never))
}

func TestFence(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := guarded(t, server.Addr(), clock.System)

	r := askFenced(m, "t", 0, "k")
	assert.Equal(t, quorum.Granted, r.Answer)
	assert.EqualValues(t, 1, r.Fence)
	assert.Empty(t, r.Tail.Tenure(), "so its vote does not count")
	askRelease(m, "k")

	arm(t, m) // with a floor of 7
	fence := func(token string, hint uint64, keys ...string) uint64 {
		t.Helper()
		r := askFenced(m, token, hint, keys...)
		require.NoError(t, r.Err)
		require.Equal(t, quorum.Granted, r.Answer)
		require.Equal(t, quorum.Refused, askFenced(m, "another", 9999, keys[0]).Answer, "it is held")
		require.Equal(t, quorum.Refused, askFenced(m, "another", 9999, "free", keys[0]).Answer, "all or none")
		askRelease(m, keys...)
		return r.Fence
	}
	assert.EqualValues(t, 8, fence("t", 0, "k"), "above the floor")
	assert.EqualValues(t, 9, fence("t", 0, "k"))
	assert.EqualValues(t, 50, fence("t", 50, "k"), "the hint, where that is more")
	assert.EqualValues(t, 51, fence("t", 3, "k"))
	assert.EqualValues(t, 8, fence("t", 0, "other"), "a name counts by itself")
	assert.EqualValues(t, 52, fence("t", 0, "k", "other"), "above all that are taken")
	assert.EqualValues(t, 53, fence("t", 0, "other"))
	assert.EqualValues(t, 53, look(t, m).Record.High)
	assert.Zero(t, server.Client().Exists(t.Context(), "k", "other", "free").Val())
}

func TestCountUp(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := guarded(t, server.Addr(), clock.System)
	arm(t, m)
	require.EqualValues(t, 8, askFenced(m, "t", 0, "k", "l").Fence)
	counts := func(want uint64) {
		t.Helper()
		for _, field := range []string{master.Counter("k"), master.Counter("l")} {
			got, err := server.Client().HGet(t.Context(), "redlock:tenure", field).Uint64()
			require.NoError(t, err, field)
			assert.Equal(t, want, got)
		}
	}
	assert.Equal(t, quorum.Refused, askCountUp(m, "another", 70, "k", "l").Answer, "it is not its lock")
	counts(8)
	r := askCountUp(m, "t", 90, "k", "l")
	assert.Equal(t, quorum.Granted, r.Answer)
	assert.NotNil(t, r.Tail, "it is a vote")
	counts(90)
	assert.Equal(t, quorum.Granted, askCountUp(m, "t", 80, "k", "l").Answer, "late, or twice")
	counts(90)
	assert.EqualValues(t, 90, look(t, m).Record.High)

	require.NoError(t, server.Client().Del(t.Context(), "l").Err())
	r = askCountUp(m, "t", 95, "k", "l")
	assert.Equal(t, quorum.Refused, r.Answer)
	assert.True(t, r.Missing)
	counts(90)
}
