package fencecheck_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/fencecheck"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// What the check takes for a master is what its scripts do: random commands, on names that
// share a counter, have the same answers.
func TestMastersDoAsTheirScripts(t *testing.T) {
	server := redistest.Start(t, 1)[0]
	m := master.New(&redis.Options{Addr: server.Addr()}, clock.System, 0)
	t.Cleanup(m.Close)
	ask := func(r master.Request) master.Reply {
		answer := make(chan master.Reply, 1)
		r.To = answer
		m.Send(r)
		reply := <-answer
		require.NoError(t, reply.Err)
		return reply
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))

	const names, clients = 3, 4
	keys := sharing(names)
	floor, counter := uint64(0), uint64(0)
	var holder [names]int // 0 for nobody
	for step := range 20_000 {
		name, client := chance.IntN(names), 1+chance.IntN(clients)
		key, token := keys[name:name+1], fmt.Sprint(client)
		what := fmt.Sprintf("step %d, client %d, name %d", step, client, name)
		switch chance.IntN(8) {
		case 0:
			floor = max(floor, counter+chance.Uint64N(3))
			require.NoError(t, server.Client().HSet(t.Context(), "redlock:tenure", "floor", floor).Err())
		case 1, 2:
			ask(master.NewRelease(key, token, clock.Never))
			if holder[name] == client {
				holder[name] = 0
			}
		case 3, 4:
			fence := counter + chance.Uint64N(4)
			after, ok := fencecheck.CountUp(counter, fence, holder[name] == client)
			require.Equal(t, ok, ask(master.NewCountUp(key, token, fence, clock.Never)).Answer == quorum.Granted, what)
			counter = after
		default:
			hint := counter + chance.Uint64N(5) - min(2, counter)
			reply := ask(master.NewFenced(key, token, time.Hour, hint, clock.Never))
			require.Equal(t, holder[name] == 0, reply.Answer == quorum.Granted, what)
			if holder[name] == 0 {
				counter = fencecheck.Give(floor, counter, hint)
				holder[name] = client
				require.Equal(t, counter, reply.Fence, what)
			}
		}
	}
	assert.Greater(t, counter, uint64(1000), "nothing happened")
}

// sharing returns keys that one field counts for.
func sharing(n int) []string {
	fields := map[any][]string{}
	for i := 0; ; i++ {
		key := fmt.Sprint("key-", i)
		field := master.Counter(key)
		fields[field] = append(fields[field], key)
		if len(fields[field]) == n {
			return fields[field]
		}
	}
}
