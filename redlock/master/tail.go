package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// A master stores its record of tenure in a hash: each part in a field of its own, for
// people, and the whole in one, for the tails.
const (
	record    = "redlock:tenure" // the key
	whole     = "record"
	separator = "\n"
)

// Tail is what a master said of itself at the end of a batch: after it had executed the
// rest, so that it remembered all of that.
type Tail struct {
	Process string         // run_id+replid: this process, and this history
	Record  *tenure.Record // shared, never written
	Time    tenure.Time
	Asked   clock.Instant
	Dialled bool // the connection was made for this question

	Offset quorum.Offset // of its clock, to the client's
	Sight  quorum.Sight  // what that tells
	Step   time.Duration // how far the clock was provably stepped, at least
	Whole  bool          // the clock was watched for a whole span

	text  string // of the record
	watch uint64 // which watch of the clock the sight is of
}

// Reply returns the tail as the protocol of tenure takes it.
func (t *Tail) Reply() tenure.Reply {
	return tenure.Reply{Heard: true, Process: t.Process, Time: t.Time, Record: *t.Record, Dialled: t.Dialled}
}

// Tenure names the tenure that the master has; "" if it has none. It is another one each
// time that the master may have forgotten what it granted.
func (t *Tail) Tenure() string {
	if t.Record == nil || !t.Record.Tenured(t.Process) {
		return ""
	}
	return fmt.Sprint(t.Record.Term(), " ", t.Process)
}

// Guard is what a client must know to believe a master's votes.
type Guard struct {
	Span      time.Duration // over which it watches the master's clock
	Tolerance time.Duration // by which that may move
}

// guard is Guard for one master: what is known from one tail to the next.
type guard struct {
	mu    sync.Mutex    // guards what follows
	watch *quorum.Watch // of the clock of process
	last  Tail
	info  string // INFO replication, of last
	begun uint64 // how often a watch was begun anew
}

func newGuard(g *Guard) *guard {
	if g == nil {
		return nil
	}
	return &guard{watch: quorum.NewWatch(g.Span, g.Tolerance)}
}

// Trust says that others found the clock to be right when it was looked at with t.
func (m *Master) Trust(t *Tail) {
	m.guard.mu.Lock()
	defer m.guard.mu.Unlock()
	if m.guard.begun == t.watch { // what was learned since is held against that look
		m.guard.watch.Trust()
	}
}

// Tenure names the tenure that the master had when it last said so; see [Tail.Tenure].
func (m *Master) Tenure() string {
	m.guard.mu.Lock()
	defer m.guard.mu.Unlock()
	return m.guard.last.Tenure()
}

// ForgetClock forgets what was known of the master's clock: the client's own stood still.
func (m *Master) ForgetClock() {
	m.guard.mu.Lock()
	defer m.guard.mu.Unlock()
	m.guard.forget()
}

// forget begins a new watch. The caller holds mu.
func (g *guard) forget() {
	g.watch.Forget()
	g.begun++
}

// needsTail reports whether an answer is worth nothing without a tail behind it.
func (o Op) needsTail() bool { return o == Acquire || o == Extend || o == Look }

// tail is the commands that end a batch. They are plain commands: INFO in a script would
// cost more than the rest together. A session has one, and uses it again and again.
type tail struct {
	time        *redis.TimeCmd
	record      *redis.StringCmd
	fence       *redis.SliceCmd // of a Look only
	replication *redis.StringCmd

	asked   clock.Instant
	dialled bool
	looks   bool
}

func newTail() *tail {
	ctx := context.Background()
	return &tail{
		time:        redis.NewTimeCmd(ctx, "time"),
		record:      redis.NewStringCmd(ctx, "hget", record, whole),
		fence:       redis.NewSliceCmd(ctx, "hmget", record, "high", "floor"),
		replication: redis.NewStringCmd(ctx, "info", "replication"),
	}
}

// sendTail ends a batch with a tail, if it needs one.
func (s *session) sendTail(ctx context.Context, pipe redis.Pipeliner, batch []Request, now clock.Instant) *tail {
	if s.guard == nil || !slices.ContainsFunc(batch, func(r Request) bool { return r.op.needsTail() }) {
		return nil
	}
	t := s.tail
	t.asked, t.dialled, t.looks = now, false, false
	for _, r := range batch {
		t.looks = t.looks || r.op == Look
		t.dialled = t.dialled || r.dialledSince > 0
	}
	t.send(ctx, pipe, t.time)
	t.send(ctx, pipe, t.record)
	t.send(ctx, pipe, t.replication)
	if t.looks {
		t.send(ctx, pipe, t.fence)
	}
	return t
}

// send sends a command that may have been sent before.
func (t *tail) send(ctx context.Context, pipe redis.Pipeliner, c redis.Cmder) {
	c.SetErr(nil)
	_ = pipe.Process(ctx, c)
}

// isTooOldFor reports whether r needs a connection that was dialled later.
func (s *session) isTooOldFor(r Request) bool { return s.dialled.Before(r.dialledSince) }

var errHides = fmt.Errorf("%w: it does not say who it is (INFO shows no run_id or master_replid): "+
	"let it, or go without the guard (Unguarded)", ErrUnsafe)

// readTail reads what came of the commands of a tail, if the connection is not broken.
func (s *session) readTail(t *tail, broken error) (*Tail, error) {
	if t == nil || broken != nil {
		return nil, nil
	}
	now := s.clock.Now()
	err := cmp.Or(t.time.Err(), t.replication.Err())
	if e := t.record.Err(); err == nil && !errors.Is(e, redis.Nil) {
		err = e
	}
	if t.looks {
		err = cmp.Or(err, t.fence.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("the record of tenure can't be read: %w", err)
	}
	return s.guard.learn(s.run, t, now)
}

// learn takes what a tail of the process run says.
func (g *guard) learn(run string, t *tail, now clock.Instant) (*Tail, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	said := g.last
	// Most often, all is as it was.
	if info := t.replication.Val(); info != g.info || !strings.HasPrefix(said.Process, run) {
		if field(info, "role") != "master" {
			return nil, errNoMaster
		}
		if p := run + "+" + field(info, "master_replid"); p != said.Process {
			said.Process = p
			g.forget()
		}
		g.info = info
	}
	if text := t.record.Val(); said.Record == nil || text != said.text {
		parsed := tenure.Parse(strings.Split(text, separator))
		said.Record, said.text = &parsed, text
	}
	if t.looks {
		said.Record = withFence(said.Record, t.fence.Val())
	}
	at := t.time.Val()
	said.Time, said.Asked, said.Dialled = tenure.Time(at.UnixMicro()), t.asked, t.dialled
	said.Offset = quorum.NewOffset(time.Duration(at.UnixNano()), t.asked, now)
	said.Sight, said.Step = g.watch.Look(said.Offset, now)
	said.watch = g.begun
	said.Whole = said.Sight == quorum.Steady && g.watch.Whole(now)
	g.last = said
	return &said, nil
}

// withFence returns the record with the fences that the master has come to since it was
// written.
func withFence(r *tenure.Record, values []any) *tenure.Record {
	high, floor := number(values, 0), number(values, 1)
	if high == r.High && floor == r.Floor {
		return r
	}
	with := *r
	with.High, with.Floor = high, floor
	return &with
}

func number(values []any, i int) uint64 {
	text, _ := values[i].(string)
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

var errNoMaster = errors.New("it is a replica by now")
