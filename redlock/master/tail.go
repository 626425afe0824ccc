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
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// A master stores its record of tenure in a hash: each part in a field of its own, for
// people, and the whole in one, for the tails.
const (
	RecordKey = "redlock:tenure" // where a master keeps who may vote
	// The counters of fences are fields with this before a number.
	counterPrefix = "c"
	whole         = "record"
	separator     = "\n"
)

// memory is what is known of one master from one tail to the next.
type memory struct {
	mu    sync.Mutex // guards what follows
	watch *guard.Watch
	last  guard.Tail
	info  string // INFO replication, of last
}

// newMemory returns the memory of a master whose keys live for span; nil for none.
func newMemory(span time.Duration) *memory {
	if span == 0 {
		return nil
	}
	return &memory{watch: guard.NewWatch(span)}
}

// Trust says that others found the clock to be right when it was looked at with t.
func (m *Master) Trust(t *guard.Tail) {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	m.memory.watch.Trust(t)
}

// Tenure names the tenure that the master had when it last said so; see [guard.Tail.Tenure].
func (m *Master) Tenure() string {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	return m.memory.last.Tenure()
}

// ForgetClock forgets what was known of the master's clock: the client's own stood still.
func (m *Master) ForgetClock() {
	m.memory.mu.Lock()
	defer m.memory.mu.Unlock()
	m.memory.watch.Forget()
}

// needsTail reports whether an answer is worth nothing without a tail behind it.
func (o Op) needsTail() bool { return o != Release && o != Inspect && o != Change && o != Describe }

// tail is the commands that end a batch. They are plain commands: INFO in a script would
// cost more than the rest together. A session has one, and uses it again and again.
type tail struct {
	time        *redis.TimeCmd
	record      *redis.StringCmd
	fields      *redis.MapStringStringCmd // of a Look only
	replication *redis.StringCmd

	asked   clock.Instant
	dialled bool
	looks   bool
}

func newTail() *tail {
	ctx := context.Background()
	return &tail{
		time:        redis.NewTimeCmd(ctx, "time"),
		record:      redis.NewStringCmd(ctx, "hget", RecordKey, whole),
		fields:      redis.NewMapStringStringCmd(ctx, "hgetall", RecordKey),
		replication: redis.NewStringCmd(ctx, "info", "replication"),
	}
}

// sendTail ends a batch with a tail, if it needs one.
func (s *session) sendTail(ctx context.Context, pipe redis.Pipeliner, batch []Request, now clock.Instant) *tail {
	if s.memory == nil || !slices.ContainsFunc(batch, func(r Request) bool { return r.op.needsTail() }) {
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
		t.send(ctx, pipe, t.fields)
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
	"let it, or go without the guard (Unguarded)", guard.ErrUnsafe)

// readTail reads what came of the commands of a tail, if the connection is not broken.
func (s *session) readTail(t *tail, broken error) (*guard.Tail, error) {
	if t == nil || broken != nil {
		return nil, nil
	}
	now := s.clock.Now()
	err := cmp.Or(t.time.Err(), t.replication.Err())
	if e := t.record.Err(); err == nil && !errors.Is(e, redis.Nil) {
		err = e
	}
	if t.looks {
		err = cmp.Or(err, t.fields.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("the record of tenure can't be read: %w", err)
	}
	return s.memory.learn(s.run, t, now)
}

// learn takes what a tail of the process run says.
func (m *memory) learn(run string, t *tail, now clock.Instant) (*guard.Tail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	said := m.last
	// Most often, all is as it was.
	if info := t.replication.Val(); info != m.info || !strings.HasPrefix(said.Process, run) {
		if field(info, "role") != "master" {
			return nil, errNoMaster
		}
		said.Process = run + "+" + field(info, "master_replid")
		m.info = info
	}
	if text := t.record.Val(); said.Record == nil || text != said.Text {
		parsed := tenure.Parse(strings.Split(text, separator))
		said.Record, said.Text = &parsed, text
	}
	if t.looks {
		said.Record = withFences(said.Record, t.fields.Val())
	}
	said.Time, said.Asked, said.Dialled = tenure.Time(t.time.Val().UnixMicro()), t.asked, t.dialled
	m.watch.See(&said, now)
	m.last = said
	return &said, nil
}

// withFences returns the record with the highest fence that the master has come to since it
// was written.
func withFences(r *tenure.Record, fields map[string]string) *tenure.Record {
	high := max(r.High, r.Floor)
	for name, value := range fields {
		if digits, ok := strings.CutPrefix(name, counterPrefix); ok && digits != "" {
			n, _ := strconv.ParseUint(value, 10, 64)
			high = max(high, n)
		}
	}
	if high == r.High {
		return r
	}
	with := *r
	with.High = high
	return &with
}

var errNoMaster = errors.New("it is a replica by now")
