package master_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
	"github.com/quorumlock/redlock-go/redlock/master"
)

func guarded(t *testing.T, addr string, c clock.Clock) *master.Master {
	t.Helper()
	m := master.New(&redis.Options{Addr: addr}, c, time.Minute)
	t.Cleanup(m.Close)
	return m
}

func look(t *testing.T, m *master.Master) *guard.Tail {
	t.Helper()
	r := ask(m, master.NewLook(0))
	require.NoError(t, r.Err)
	return r.Tail
}

func change(t *testing.T, m *master.Master, as *guard.Tail, do tenure.Transition) quorum.Answer {
	t.Helper()
	r, ok := master.NewChange(as, do)
	require.True(t, ok)
	return ask(m, r).Answer
}

// arm gives a master tenure, as if it were a group of its own.
func arm(t *testing.T, m *master.Master) *guard.Tail {
	t.Helper()
	tail := look(t, m)
	require.Equal(t, quorum.Granted, change(t, m, tail, tenure.Prepare{Identity: tail.Record.Identity, Seen: tail.Record.Prepared, Nonce: "nonce"}))
	tail = look(t, m)
	require.Equal(t, quorum.Granted, change(t, m, tail, tenure.Arm{
		Prepared: tail.Record.Prepared,
		Charter:  tenure.Charter{Group: "g", N: 1, MaxTTL: time.Second, Tolerance: clock.Tolerance},
		Seat:     1,
		Terms:    []tenure.Term{{No: 1, Address: m.Addr()}},
		High:     7,
	}))
	return look(t, m)
}

// What a master does to its record is what the protocol says that it does.
func TestChangesAreTheTransitions(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := guarded(t, server.Addr(), clock.System)
	waiter := tenure.Preparation{Process: "p", Nonce: "n"}
	charter := tenure.Charter{Group: "g", N: 2, MaxTTL: time.Second, Tolerance: clock.Tolerance}
	prepared := func(r tenure.Record) tenure.Preparation { return r.Prepared }
	steps := []func(r tenure.Record) tenure.Transition{
		func(r tenure.Record) tenure.Transition {
			return tenure.Prepare{Identity: r.Identity, Seen: prepared(r), Nonce: "first"}
		},
		func(r tenure.Record) tenure.Transition { return tenure.Pledge{Prepared: prepared(r), Group: "g"} },
		func(r tenure.Record) tenure.Transition {
			return tenure.Arm{Prepared: prepared(r), Pledge: "g", Charter: charter, Seat: 1, High: 9, Skew: time.Millisecond,
				Terms: []tenure.Term{{No: 1, Address: "a:1"}, {No: 3, Address: "b:1"}}}
		},
		func(tenure.Record) tenure.Transition {
			return tenure.Raise{Group: "g", Seat: 2, Term: 4, Address: "c:1", Waiter: waiter}
		},
		func(tenure.Record) tenure.Transition {
			return tenure.Await{Group: "g", Seat: 2, Term: 4, Waiter: waiter}
		},
		func(tenure.Record) tenure.Transition { return tenure.Settle{Skew: time.Second} },
		func(r tenure.Record) tenure.Transition {
			return tenure.Prepare{Identity: r.Identity, Seen: prepared(r), Nonce: "second"}
		},
	}
	for i, step := range steps {
		before := look(t, m)
		do := step(*before.Record)
		require.Equal(t, quorum.Granted, change(t, m, before, do), "step %d", i)
		after := look(t, m)
		at := time.Unix(0, int64(after.Time)*1000)
		want := map[bool]bool{}
		for now := before.Time; now <= after.Time; now++ { // some microsecond between
			r, ok := do.Apply(*before.Record, before.Process, now)
			require.True(t, ok)
			want[assert.ObjectsAreEqual(r, *after.Record)] = true
		}
		assert.True(t, want[true], "step %d at %v: %+v became %+v", i, at, before.Record, after.Record)

		again, _ := master.NewChange(before, do)
		assert.Equal(t, quorum.Refused, ask(m, again).Answer, "a late %T changed a record that is not as it was", do)
		assert.Equal(t, after.Record, look(t, m).Record)
	}
	fields := server.Client().HGetAll(t.Context(), "redlock:tenure").Val()
	assert.Equal(t, "g", fields["group"], "people can read it")
	assert.Equal(t, "9", fields["high"])
}

// One who has forgotten has no tenure, and what was meant for its record before that comes
// too late, also if the process is the same.
func TestTenureEndsWithTheMemory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		forget func(t *testing.T, server *redistest.Master)
	}{
		{"flushed", func(_ *testing.T, server *redistest.Master) { server.FlushAll() }},
		{"restarted empty", func(_ *testing.T, server *redistest.Master) {
			server.Kill()
			server.Restart()
		}},
		{"demoted and promoted again", func(t *testing.T, server *redistest.Master) {
			t.Helper()
			require.NoError(t, server.Client().ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
			require.NoError(t, server.Client().ReplicaOf(t.Context(), "no", "one").Err())
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := redistest.Start(t, 1)[0]
			m := guarded(t, server.Addr(), clock.System)
			before := arm(t, m)
			require.True(t, before.Record.Tenured(before.Process))
			require.NotEmpty(t, before.Tenure())
			late, _ := master.NewChange(before, tenure.Settle{Skew: time.Second})

			tt.forget(t, server)
			var after *guard.Tail
			require.True(t, redistest.Poll(func() bool {
				after = ask(m, master.NewLook(0)).Tail
				return after != nil
			}))
			assert.False(t, after.Record.Tenured(after.Process))
			assert.NotEqual(t, before.Tenure(), after.Tenure())
			assert.Equal(t, quorum.Refused, ask(m, late).Answer)
		})
	}
}

func TestTailIsBehindTheVote(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := guarded(t, server.Addr(), clock.System)
	arm(t, m)
	r := ask(m, master.NewAcquire([]string{"k"}, "t", ttl, clock.Never))
	require.Equal(t, quorum.Granted, r.Answer)
	require.NotNil(t, r.Tail)
	assert.True(t, r.Tail.Record.Tenured(r.Tail.Process))
	assert.Equal(t, quorum.Strange, r.Tail.Sight, "nobody has said that its clock is right")
	m.Trust(r.Tail)
	assert.Equal(t, quorum.Steady, look(t, m).Sight)
	m.ForgetClock()
	assert.Equal(t, quorum.Strange, look(t, m).Sight)
	m.Trust(r.Tail)
	assert.Equal(t, quorum.Strange, look(t, m).Sight, "that was another watch")
	assert.Nil(t, ask(m, master.NewRelease([]string{"k"}, "t", clock.Never)).Tail, "a release needs none")
}

// A clock that the client's own does not follow was stepped.
func TestStepIsSeen(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	own := &idler{Clock: clock.System}
	m := guarded(t, server.Addr(), own)
	tail := look(t, m)
	m.Trust(tail)
	own.by.Store(int64(-10 * time.Second)) // as if the master's had gone forward
	tail = look(t, m)
	assert.Equal(t, quorum.Stepped, tail.Sight)
	assert.InDelta(t, 10*time.Second, tail.Step, float64(time.Second))
}

func TestLookOverANewConnection(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := guarded(t, server.Addr(), clock.System)
	assert.False(t, look(t, m).Dialled)
	r := ask(m, master.NewLook(clock.System.Now()))
	require.NoError(t, r.Err)
	assert.True(t, r.Tail.Dialled)
	assert.False(t, look(t, m).Dialled)
	clients := server.Client().ClientList(t.Context()).Val()
	assert.Equal(t, 2, strings.Count(clients, "\n"), "the old connection is still there: %s", clients)
}

func TestEvictionThatIsTurnedOnIsNoticed(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory", "100mb").Err())
	m := guarded(t, server.Addr(), clock.System)
	look(t, m)
	require.NoError(t, server.Client().ConfigSet(t.Context(), "maxmemory-policy", "volatile-lru").Err())
	require.True(t, redistest.Poll(func() bool {
		err := ask(m, master.NewLook(0)).Err
		return err != nil && strings.Contains(err.Error(), "may evict")
	}), "eviction that was turned on was not noticed")
}

// One that arms may be paused for as long as it likes before its last step.
func TestLateArmIsRefused(t *testing.T) {
	prepare := func(t *testing.T, m *master.Master, nonce string) *guard.Tail {
		t.Helper()
		tail := look(t, m)
		require.Equal(t, quorum.Granted, change(t, m, tail, tenure.Prepare{
			Identity: tail.Record.Identity, Seen: tail.Record.Prepared, Nonce: nonce,
		}))
		return look(t, m)
	}
	for _, tt := range []struct {
		name      string
		meanwhile func(t *testing.T, m *master.Master, server *redistest.Master)
	}{
		{"the master was flushed", func(_ *testing.T, _ *master.Master, server *redistest.Master) { server.FlushAll() }},
		{"it was flushed, and somebody else prepared it", func(t *testing.T, m *master.Master, server *redistest.Master) {
			t.Helper()
			server.FlushAll()
			prepare(t, m, "another")
		}},
		{"somebody else has used the nonce, and it was flushed and prepared again", func(t *testing.T, m *master.Master, server *redistest.Master) {
			t.Helper()
			arm(t, m)
			server.FlushAll()
			prepare(t, m, "another")
		}},
		{"somebody else has used the nonce, and the clock was found to step", func(t *testing.T, m *master.Master, _ *redistest.Master) {
			t.Helper()
			arm(t, m)
			prepare(t, m, "another")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := redistest.Start(t, 1)[0]
			m := guarded(t, server.Addr(), clock.System)
			tail := prepare(t, m, "nonce")
			late, ok := master.NewChange(tail, tenure.Arm{
				Prepared: tail.Record.Prepared,
				Charter:  tenure.Charter{Group: "g", N: 1, MaxTTL: time.Second, Tolerance: clock.Tolerance},
				Seat:     1,
				Terms:    []tenure.Term{{No: 1, Address: m.Addr()}},
			})
			require.True(t, ok)
			tt.meanwhile(t, m, server)
			assert.Equal(t, quorum.Refused, ask(m, late).Answer)
			after := look(t, m)
			assert.False(t, after.Record.Tenured(after.Process))
		})
	}
}
