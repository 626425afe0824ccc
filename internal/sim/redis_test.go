package sim

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
	"github.com/quorumlock/redlock-go/redlock"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// pair is a real master, and the model of one, to which the same happens.
type pair struct {
	*testing.T
	real   *redistest.Master
	lane   *master.Master
	model  *server
	chance *rand.Rand
	steps  int
}

// unit is what times are multiples of, but for steps of clocks, each of which is a sixteenth of
// it more. So no key is about to end when it is looked at, as long as the test itself takes
// less than that.
const unit = 10 * time.Second

func newPair(t *testing.T, seed uint64) *pair {
	t.Helper()
	p := &pair{T: t, chance: rand.New(rand.NewPCG(seed, 0))}
	p.real = redistest.Start(t, 1, redistest.WallClock(t))[0]
	c, err := redlock.New(redlock.Options{Masters: []string{p.real.Addr()}, MaxTTL: 4 * unit})
	require.NoError(t, err)
	require.NoError(t, c.Init(t.Context()))
	require.NoError(t, c.Close())
	p.lane = master.New(&redis.Options{Addr: p.real.Addr()}, clock.System, 0)
	t.Cleanup(p.lane.Close)
	p.model = &server{w: &world{}, home: &host{}}
	p.model.clock.steps = time.Hour
	p.readRecord()
	return p
}

// readRecord has the model know what the master knows of its tenure: transitions are the
// same code on both sides.
func (p *pair) readRecord() {
	text := p.real.Client().HGet(p.Context(), master.RecordKey, "record").Val()
	record := tenure.Parse(strings.Split(text, "\n"))
	p.model.record = &record
}

func (p *pair) ask(r master.Request) master.Reply {
	replies := make(chan master.Reply, 1)
	r.To = replies
	p.lane.Send(r)
	return <-replies
}

// both has the same request done, and compares what comes of it.
func (p *pair) both(r request) {
	p.Helper()
	keys, token := []string{"name-" + strconv.Itoa(r.name)}, strconv.FormatUint(r.token, 10)
	var q master.Request
	switch r.op {
	case acquire:
		q = master.NewAcquire(keys, token, r.ttl, clock.Never)
		if r.fenced {
			q = master.NewFenced(keys, token, r.ttl, r.hint, clock.Never)
		}
	case countUp:
		q = master.NewCountUp(keys, token, r.hint, clock.Never)
	case extend:
		q = master.NewExtend(keys, token, r.ttl, r.restore, clock.Never)
	case release:
		q = master.NewRelease(keys, token, clock.Never)
	default:
		p.Fatalf("request %d", r.op)
	}
	is, says := p.ask(q), p.model.exec(r)
	require.NoError(p, is.Err)
	require.Equal(p, is.Answer, says.answer, "%+v: %+v and %+v", r, is, says)
	require.Equal(p, is.Fence, says.fence, "%+v", r)
	require.Equal(p, is.Missing, says.missing, "%+v", r)
	if is.Answer == quorum.Refused && r.op != acquire {
		require.InDelta(p, is.Left.Seconds(), says.left.Seconds(), 3, "%+v: %v and %v", r, is.Left, says.left)
	}
}

func (p *pair) step() {
	p.Helper()
	switch p.chance.IntN(20) {
	case 0:
		p.real.FlushAll()
		p.model.data = data{}
	case 1, 2:
		if p.steps++; p.steps > 15 {
			return
		}
		d := time.Duration(p.chance.IntN(5))*unit - 2*unit + unit/16
		p.real.StepClock(d)
		p.model.clock.steps += d
	default:
		p.both(request{
			op: op(p.chance.IntN(int(release) + 1)), name: p.chance.IntN(names), token: 1 + p.chance.Uint64N(3),
			ttl: time.Duration(1+p.chance.IntN(4)) * unit, fenced: p.chance.IntN(2) == 0,
			hint: p.chance.Uint64N(50), restore: p.chance.IntN(2) == 0,
		})
	}
}

// The model of a master says to every request what a real one says.
func TestModelIsLikeRedis(t *testing.T) {
	for seed := range uint64(20) {
		p := newPair(t, seed)
		for range 100 {
			p.step()
		}
	}
}
