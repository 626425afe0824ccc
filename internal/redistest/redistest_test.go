package redistest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMastersAreIndependent(t *testing.T) {
	masters := redistest.Start(t, 3)
	runs, pids := map[string]bool{}, map[int]bool{}
	for _, m := range masters {
		runs[m.RunID()], pids[m.Pid()] = true, true
	}
	assert.Len(t, runs, 3)
	assert.Len(t, pids, 3)
	assert.Equal(t, []string{masters[0].Addr(), masters[1].Addr(), masters[2].Addr()}, redistest.Addrs(masters))

	set(t, masters[0])
	assert.False(t, has(t, masters[1]))
}

func TestKillAndRestart(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []redistest.Option
		keeps   bool
	}{
		{"without persistence it comes back empty", nil, false},
		{"with AOF it comes back with its keys", []redistest.Option{redistest.AOF("always")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := redistest.Start(t, 1, tt.options...)[0]
			addr, run, pid := m.Addr(), m.RunID(), m.Pid()
			set(t, m)

			m.Kill()
			require.True(t, m.Refuses(), "it answers after Kill")

			m.Restart()
			assert.Equal(t, addr, m.Addr())
			assert.NotEqual(t, run, m.RunID())
			assert.NotEqual(t, pid, m.Pid())
			assert.Equal(t, tt.keeps, has(t, m))

			run = m.RunID()
			m.Restart() // kills it first
			assert.NotEqual(t, run, m.RunID())
		})
	}
}

func TestStoppedMasterExecutesWhatWasSentOnceItGoesOn(t *testing.T) {
	m := redistest.Start(t, 1)[0]
	conn := m.Client().Conn()
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Ping(t.Context()).Err()) // so that only the SET is still to be sent
	m.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, conn.Set(ctx, "a", "late", 0).Err(), "it answers while stopped")

	m.Cont()
	require.Eventually(t, func() bool { return has(t, m) }, redistest.Patience, time.Millisecond)
}

func TestStoppedMasterCanBeKilled(t *testing.T) {
	m := redistest.Start(t, 1)[0]
	m.Stop()
	m.Kill()
	m.Restart()
}

func TestFlushAllForgetsWhileTheProcessGoesOn(t *testing.T) {
	m := redistest.Start(t, 1)[0]
	run := m.RunID()
	set(t, m)
	m.FlushAll()
	assert.False(t, has(t, m))
	assert.Equal(t, run, m.RunID())
}

func TestArgsReachTheServer(t *testing.T) {
	m := redistest.Start(t, 1, redistest.Args("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"))[0]
	assert.Equal(t, "allkeys-lru", m.Client().ConfigGet(t.Context(), "maxmemory-policy").Val()["maxmemory-policy"])
}

func TestMastersAreGoneAfterTheTest(t *testing.T) {
	var masters []*redistest.Master
	t.Run("inner", func(t *testing.T) {
		masters = redistest.Start(t, 2)
		masters[0].Stop()
	})
	require.Len(t, masters, 2)
	for _, m := range masters {
		assert.True(t, m.Refuses(), "%s still listens", m.Addr())
	}
}

func TestFaultsThatCannotHappenFailTheTest(t *testing.T) {
	for name, fault := range map[string]func(*redistest.Master){
		"kill":     (*redistest.Master).Kill,
		"stop":     (*redistest.Master).Stop,
		"cont":     (*redistest.Master).Cont,
		"flushall": (*redistest.Master).FlushAll,
	} {
		t.Run(name, func(t *testing.T) {
			double := &recorder{TB: t}
			end := double.run(func() {
				m := redistest.Start(double, 1)[0]
				m.Kill()
				fault(m)
			})
			assert.Equal(t, "failed", end, double.text)
		})
	}
}

func TestWithoutRedisServer(t *testing.T) {
	for _, tt := range []struct{ ci, want string }{{"", "skipped"}, {"true", "failed"}} {
		t.Run("CI="+tt.ci, func(t *testing.T) {
			t.Setenv("CI", tt.ci)
			t.Setenv("PATH", t.TempDir())
			double := &recorder{TB: t}
			assert.Equal(t, tt.want, double.run(func() { redistest.Start(double, 1) }))
			assert.Contains(t, double.text, "redis-server is not on PATH")
		})
	}
}

// The death signal of Linux comes when the thread ends that started the child.
func TestMasterOutlivesTheThreadThatStartedIt(t *testing.T) {
	var m *redistest.Master
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		m = redistest.Start(t, 1)[0]
	}()
	<-done
	require.NotNil(t, m)
	run := m.RunID()
	for range 50 {
		require.Equal(t, run, m.RunID())
		time.Sleep(time.Millisecond)
	}
}

func set(t *testing.T, m *redistest.Master) {
	t.Helper()
	require.NoError(t, m.Client().Set(t.Context(), "a", "1", 0).Err())
}

func has(t *testing.T, m *redistest.Master) bool {
	t.Helper()
	n, err := m.Client().Exists(t.Context(), "a").Result()
	assert.NoError(t, err)
	return n == 1
}
