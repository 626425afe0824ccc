package containers_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/internal/redistest/containers"
)

func TestKillAndRestart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []containers.Option
		keeps   bool
	}{
		{"without persistence it comes back empty", nil, false},
		{"with AOF it comes back with its keys", []containers.Option{containers.AOF("always")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := containers.Start(t, 1, tt.options...)[0]
			addr, run := m.Addr(), m.RunID()
			require.NoError(t, m.Client().Set(t.Context(), "a", "1", 0).Err())

			m.Kill()
			require.True(t, m.Refuses())

			m.Restart()
			assert.Equal(t, addr, m.Addr())
			assert.NotEqual(t, run, m.RunID())
			assert.Equal(t, tt.keeps, m.Client().Exists(t.Context(), "a").Val() == 1)
		})
	}
}

func TestStoppedMasterExecutesWhatWasSentOnceItGoesOn(t *testing.T) {
	m := containers.Start(t, 1)[0]
	conn := m.Client().Conn()
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Ping(t.Context()).Err()) // so that only the SET is still to be sent
	m.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, conn.Set(ctx, "a", "late", 0).Err(), "it answers while stopped")

	m.Cont()
	assert.True(t, redistest.Poll(func() bool { return m.Client().Exists(t.Context(), "a").Val() == 1 }))
	m.FlushAll()
}

func TestStoppedMasterCanBeKilled(t *testing.T) {
	m := containers.Start(t, 1)[0]
	m.Stop()
	m.Kill()
	m.Restart()
}

func TestMastersAreGoneAfterTheTest(t *testing.T) {
	var m *containers.Master
	t.Run("inner", func(t *testing.T) { m = containers.Start(t, 1)[0] })
	if m == nil {
		t.Skip("the inner test says why")
	}
	assert.True(t, m.Refuses(), "%s still listens", m.Addr())
}

func TestImageCanBeChanged(t *testing.T) {
	t.Setenv(containers.ImageEnv, "")
	assert.Equal(t, "redis:8-alpine", containers.Image())
	t.Setenv(containers.ImageEnv, "mine:1")
	assert.Equal(t, "mine:1", containers.Image())
}
