package master_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/redlock/master"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl     = time.Minute // longer than any test: no key here goes by itself
	timeout = 300 * time.Millisecond
)

// lane returns a lane to addr that gives up soon, and is closed with the test.
func lane(t *testing.T, addr string) *master.Master {
	t.Helper()
	m := master.New(&redis.Options{Addr: addr, ReadTimeout: timeout}, clock.System, 0)
	t.Cleanup(m.Close)
	return m
}

func later() clock.Instant { return clock.System.Now().Add(ttl) }

// send sends requests at once and returns where their replies will come.
func send(m *master.Master, requests ...master.Request) <-chan master.Reply {
	replies := make(chan master.Reply, len(requests))
	for i, r := range requests {
		r.Voter, r.To = i, replies
		m.Send(r)
	}
	return replies
}

// ask sends one request and waits for its reply.
func ask(m *master.Master, r master.Request) master.Reply { return <-send(m, r) }

func acquire(key, token string) master.Request {
	return master.NewAcquire([]string{key}, token, ttl, later())
}

func release(key, token string) master.Request {
	r := master.NewRelease([]string{key}, token, later())
	r.Owe = true
	return r
}

func holder(t *testing.T, m *redistest.Master, key string) string {
	t.Helper()
	v, err := m.Client().Get(t.Context(), key).Result()
	if err == redis.Nil { //nolint:errorlint // go-redis returns it bare
		return ""
	}
	require.NoError(t, err)
	return v
}

func TestLane(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())

	got := ask(m, acquire("k", "mine"))
	assert.Equal(t, quorum.Granted, got.Answer)
	assert.Equal(t, redisMaster.RunID(), got.Run, "votes say whose they are")
	assert.Equal(t, quorum.Refused, ask(m, acquire("k", "other's")).Answer)

	got = ask(m, master.NewExtend([]string{"k"}, "other's", ttl, false, later()))
	assert.Equal(t, quorum.Refused, got.Answer)
	assert.Positive(t, got.Left)
	assert.Equal(t, quorum.Granted, ask(m, master.NewExtend([]string{"k"}, "mine", 2*ttl, false, later())).Answer)
	assert.Greater(t, redisMaster.Client().PTTL(t.Context(), "k").Val(), ttl)
	assert.Equal(t, quorum.Granted, ask(m, master.NewExtend([]string{"k"}, "mine", ttl, false, later())).Answer)
	assert.Greater(t, redisMaster.Client().PTTL(t.Context(), "k").Val(), ttl, "an extension never shortens")

	got = ask(m, master.NewInspect("k"))
	assert.Equal(t, "mine", got.Token)
	assert.Positive(t, got.Left)

	assert.Equal(t, quorum.Refused, ask(m, release("k", "other's")).Answer)
	assert.Equal(t, "mine", holder(t, redisMaster, "k"), "a release frees only its own")
	assert.Equal(t, quorum.Granted, ask(m, release("k", "mine")).Answer)
	assert.True(t, ask(m, release("k", "mine")).Missing)
	assert.True(t, ask(m, master.NewExtend([]string{"k"}, "mine", ttl, false, later())).Missing)
	assert.Empty(t, holder(t, redisMaster, "k"), "an extension puts nothing back")
	assert.Empty(t, ask(m, master.NewInspect("k")).Token)
}

// The order of requests is the order of their effects, whatever is in one batch:
// a release can't overtake its SET.
func TestReleaseNeverOvertakesItsSet(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("warm", "up")).Answer)
	for range 50 {
		var requests []master.Request
		for i := range 1 + rand.N(100) {
			token := fmt.Sprint("t", i)
			requests = append(requests, acquire("k", token), release("k", token))
		}
		replies := send(m, requests...)
		for range requests {
			r := <-replies
			require.Equal(t, quorum.Granted, r.Answer, "request %d: %v", r.Voter, r.Err)
		}
		require.Empty(t, holder(t, redisMaster, "k"))
	}
}

// A hung master's late replies belong to requests that were given up. They must not
// be taken for the answers to later ones.
func TestLateReplyIsNeverCountedForAnotherRequest(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.NoError(t, redisMaster.Client().Set(t.Context(), "taken", "x", 0).Err())
	require.Equal(t, quorum.Granted, ask(m, acquire("warm", "up")).Answer)

	redisMaster.Stop()
	late := ask(m, acquire("free", "late"))
	require.Equal(t, quorum.Unknown, late.Answer, "it may have acted")
	require.ErrorContains(t, late.Err, "no answer within")
	require.False(t, late.Unsent)
	redisMaster.Cont()

	// The late reply would be a grant. This one must be refused.
	require.Eventually(t, func() bool {
		r := ask(m, acquire("taken", "next"))
		require.NotEqual(t, quorum.Granted, r.Answer)
		return r.Answer == quorum.Refused
	}, redistest.Patience, 10*time.Millisecond)
}

// A command that the network held back must not be executed after the master was
// reached again: the next connection kills its predecessor first.
func TestPredecessorIsKilled(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	network := proxy.Start(t, redisMaster.Addr())
	m := lane(t, network.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("warm", "up")).Answer)

	network.Hold()
	require.Equal(t, quorum.Unknown, ask(m, acquire("k", "late")).Answer)
	require.Eventually(t, func() bool { // over a new connection
		return ask(m, acquire("other", "t")).Answer != quorum.Unknown
	}, redistest.Patience, 10*time.Millisecond)
	clients := redisMaster.Client().ClientList(t.Context()).Val()
	assert.Equal(t, 2, strings.Count(clients, "\n"), "the lane's connection and the test's, not the one before:\n%s", clients)
	network.Resume()
	require.Equal(t, quorum.Granted, ask(m, acquire("more", "t")).Answer)
	require.Empty(t, holder(t, redisMaster, "k"))
}

func TestReleaseIsDeliveredWhenTheMasterIsBack(t *testing.T) {
	for _, fault := range []struct {
		name       string
		away, back func(m *redistest.Master)
	}{
		{"hung", (*redistest.Master).Stop, (*redistest.Master).Cont},
		{"killed, with its memory on disk", (*redistest.Master).Kill, (*redistest.Master).Restart},
	} {
		t.Run(fault.name, func(t *testing.T) {
			redisMaster := redistest.Start(t, 1, redistest.AOF("always"))[0]
			m := lane(t, redisMaster.Addr())
			require.Equal(t, quorum.Granted, ask(m, acquire("first", "t")).Answer)
			require.Equal(t, quorum.Granted, ask(m, acquire("second", "t2")).Answer)

			fault.away(redisMaster)
			require.Error(t, ask(m, release("first", "t")).Err, "in flight when it is noticed")
			require.Error(t, ask(m, release("second", "t2")).Err, "known to be away")
			fault.back(redisMaster)
			require.Eventually(t, func() bool {
				return holder(t, redisMaster, "first") == "" && holder(t, redisMaster, "second") == ""
			}, redistest.Patience, 10*time.Millisecond)
		})
	}
}

// What the hung master got before it hung is undone too, though it is executed late.
func TestLateSetIsUndone(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("warm", "up")).Answer)
	redisMaster.Stop()
	replies := send(m, acquire("k", "late"), release("k", "late"))
	require.Error(t, (<-replies).Err)
	require.Error(t, (<-replies).Err)
	redisMaster.Cont()
	require.Eventually(t, func() bool { return ask(m, acquire("probe", "p")).Answer != quorum.Unknown },
		redistest.Patience, 10*time.Millisecond)
	require.Empty(t, holder(t, redisMaster, "k"))
}

func TestMasterThatIsAwayAnswersAtOnce(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
	redisMaster.Kill()
	require.Eventually(t, func() bool { return ask(m, acquire("k2", "t")).Unsent }, redistest.Patience, time.Millisecond)
	r := ask(m, acquire("k3", "t"))
	assert.True(t, r.Unsent)
	assert.ErrorContains(t, r.Err, "connection refused")
	redisMaster.Restart()
	require.Eventually(t, func() bool { return ask(m, acquire("k4", "t")).Answer == quorum.Granted },
		redistest.Patience, time.Millisecond)
}

func TestTooLateIsNotSent(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	r := ask(m, master.NewAcquire([]string{"k"}, "t", ttl, clock.System.Now()))
	assert.True(t, r.Unsent)
	assert.Equal(t, quorum.Unknown, r.Answer)
	assert.Empty(t, holder(t, redisMaster, "k"))
}

// Servers and firewalls close connections that nobody uses. The next request must
// not pay for that.
func TestIdleConnectionThatWasClosed(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	idle := &idler{Clock: clock.System}
	m := master.New(&redis.Options{Addr: redisMaster.Addr()}, idle, 0)
	t.Cleanup(m.Close)
	require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
	require.NoError(t, redisMaster.Client().Do(t.Context(), "client", "kill", "type", "normal", "skipme", "yes").Err())
	idle.by.Store(int64(2 * time.Second))
	assert.Equal(t, quorum.Granted, ask(m, master.NewAcquire([]string{"k2"}, "t", ttl, clock.Never)).Answer)
}

func TestScriptsThatWereForgotten(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
	require.NoError(t, redisMaster.Client().ScriptFlush(t.Context()).Err())
	require.ErrorContains(t, ask(m, release("k", "t")).Err, "NOSCRIPT")
	require.Eventually(t, func() bool { return holder(t, redisMaster, "k") == "" }, redistest.Patience, time.Millisecond,
		"the release is owed, and delivered over the next connection")
}

func TestWhoCannotVote(t *testing.T) {
	t.Run("a replica", func(t *testing.T) {
		masters := redistest.Start(t, 2)
		demote(t, masters[1], masters[0].Addr())
		err := ask(lane(t, masters[1].Addr()), acquire("k", "t")).Err
		assert.ErrorIs(t, err, guard.ErrUnsafe)
		assert.ErrorContains(t, err, "is a replica")
	})
	t.Run("one that evicts", func(t *testing.T) {
		greedy := redistest.Start(t, 1, redistest.Args("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"))[0]
		err := ask(lane(t, greedy.Addr()), acquire("k", "t")).Err
		assert.ErrorIs(t, err, guard.ErrUnsafe)
		assert.ErrorContains(t, err, "allkeys-lru")
	})
	t.Run("a master that became a replica", func(t *testing.T) {
		redisMaster := redistest.Start(t, 1)[0]
		m := lane(t, redisMaster.Addr())
		require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
		demote(t, redisMaster, "127.0.0.1:1")
		assert.ErrorContains(t, ask(m, acquire("k2", "t")).Err, "READONLY")
		require.Eventually(t, func() bool { return ask(m, acquire("k2", "t")).Unsent }, redistest.Patience, time.Millisecond)
	})
	t.Run("a node of a cluster", func(t *testing.T) {
		node := redistest.Start(t, 1, redistest.Args("--cluster-enabled", "yes"))[0]
		assert.ErrorContains(t, ask(lane(t, node.Addr()), acquire("k", "t")).Err, "Redis Cluster")
	})
	t.Run("who does not let us in", func(t *testing.T) {
		const secret = "open-sesame"
		closed := redistest.Start(t, 1)[0]
		require.NoError(t, closed.Client().ConfigSet(t.Context(), "requirepass", "another").Err())
		m := master.New(&redis.Options{Addr: closed.Addr(), Password: secret}, clock.System, 0)
		t.Cleanup(m.Close)
		err := ask(m, acquire("k", "t")).Err
		assert.ErrorContains(t, err, "WRONGPASS")
		assert.NotContains(t, err.Error(), secret)
	})
}

func demote(t *testing.T, m *redistest.Master, of string) {
	t.Helper()
	host, port, err := net.SplitHostPort(of)
	require.NoError(t, err)
	require.NoError(t, m.Client().Do(t.Context(), "replicaof", host, port).Err())
}

func TestClose(t *testing.T) {
	redisMaster := redistest.Start(t, 1)[0]
	m := master.New(&redis.Options{Addr: redisMaster.Addr()}, clock.System, 0)
	require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
	replies := send(m, release("k", "t"))
	m.Close()
	assert.Equal(t, quorum.Granted, (<-replies).Answer, "what is queued is sent")
	assert.ErrorIs(t, ask(m, acquire("k", "t")).Err, master.ErrClosed)
	m.Close()

	master.New(&redis.Options{Addr: redisMaster.Addr()}, clock.System, 0).Close() // never used
	away := master.New(&redis.Options{Addr: "127.0.0.1:1"}, clock.System, 0)
	require.Error(t, ask(away, acquire("k", "t")).Err)
	away.Close()
}

// The library prints nothing, and go-redis nothing on its behalf.
func TestNothingIsPrinted(t *testing.T) {
	log := &recorder{}
	redis.SetLogger(log)
	t.Cleanup(func() { redis.SetLogger(discard{}) })
	redisMaster := redistest.Start(t, 1)[0]
	m := lane(t, redisMaster.Addr())
	require.Equal(t, quorum.Granted, ask(m, acquire("k", "t")).Answer)
	redisMaster.Stop()
	require.Error(t, ask(m, acquire("k2", "t")).Err)
	redisMaster.Kill()
	require.Eventually(t, func() bool {
		r := ask(m, acquire("k3", "t"))
		return r.Err != nil && r.Unsent
	}, redistest.Patience, time.Millisecond)
	require.Error(t, ask(lane(t, "127.0.0.1:1"), acquire("k", "t")).Err)
	assert.Empty(t, log.lines)
}
