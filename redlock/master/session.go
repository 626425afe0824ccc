package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum/guard"
)

// Connection defaults, where the user's hook gives no others.
const (
	dialTimeout = time.Second
	ioTimeout   = 500 * time.Millisecond
)

// settings returns what a lane needs of a connection, whatever the user's options say.
func settings(o *redis.Options) *redis.Options {
	c := *o
	c.DialTimeout = orPositive(c.DialTimeout, dialTimeout)
	c.ReadTimeout = orPositive(c.ReadTimeout, ioTimeout)
	c.WriteTimeout = orPositive(c.WriteTimeout, ioTimeout)
	c.MaxRetries = -1   // a repeated SET NX would be refused by its own key
	c.DialerRetries = 1 // the lane does that, without holding anybody up
	c.Protocol = 2      // no push messages between the replies
	c.PoolSize = 1      // the lane is one connection
	c.MinIdleConns = 0  // and opened by nobody else
	c.DisableIdentity = true
	c.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if c.Dialer == nil {
		c.Dialer = redis.NewDialer(&c)
	}
	return &c
}

func orPositive(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// session is one connection to a master, from handshake to close.
type session struct {
	client *redis.Client
	conn   *redis.Conn
	id     int64  // the connection's number at the master; 0 if it does not tell
	run    string // run_id of the process at the other end; "" if it hides it

	dialled clock.Instant
	clock   clock.Clock
	memory  *memory // nil where there is no guard
	tail    *tail

	timeout time.Duration // for one exchange
}

// open dials and does the handshake. go-redis is given a connection that is there
// already, because it would print to standard error that it can't dial.
func open(ctx context.Context, o *redis.Options, c clock.Clock, mem *memory) (*session, error) {
	dialled := c.Now()
	dialing, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	wire, err := o.Dialer(dialing, "tcp", o.Addr)
	if err != nil {
		return nil, err
	}
	one := *o
	one.Dialer = once(wire)
	s := &session{client: redis.NewClient(&one), timeout: o.ReadTimeout, dialled: dialled, clock: c, memory: mem, tail: newTail()}
	s.conn = s.client.Conn()
	if err := s.handshake(ctx); err != nil {
		s.close()
		_ = wire.Close() // for the case that go-redis never asked for it
		return nil, s.explain(err)
	}
	return s, nil
}

// once is a dialer for the one connection of a session: a session whose connection
// broke must end, and not go on over another that did no handshake.
func once(wire net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		if wire == nil {
			return nil, net.ErrClosed
		}
		w := wire
		wire = nil
		return w, nil
	}
}

func (s *session) close() {
	_ = s.conn.Close()
	_ = s.client.Close()
}

// handshake learns who answers, refuses who can't be a voter, and loads the scripts.
func (s *session) handshake(ctx context.Context) error {
	pipe := s.conn.Pipeline()
	id := pipe.Do(ctx, "client", "id")
	server := pipe.Info(ctx, "server")
	replication := pipe.Info(ctx, "replication")
	memory := pipe.Info(ctx, "memory")
	loaded := map[string]*redis.StringCmd{}
	for sha, text := range scripts {
		loaded[sha] = pipe.ScriptLoad(ctx, text)
	}
	_, refused := pipe.Exec(ctx)
	if refused != nil && !isReply(refused) {
		return refused
	}
	if err := cmp.Or(server.Err(), replication.Err(), memory.Err()); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	for sha, cmd := range loaded {
		// A login that is refused leaves the commands without any reply.
		if cmd.Val() != sha {
			return fmt.Errorf("handshake: %w", cmp.Or(cmd.Err(), refused, errShape))
		}
	}
	s.id, _ = id.Int64() // without it, the successor can't end this connection
	s.run = field(server.Val(), "run_id")
	if s.memory != nil && (s.run == "" || field(replication.Val(), "master_replid") == "") {
		return errHides
	}
	return fit(server.Val() + replication.Val() + memory.Val())
}

// fit returns why the server that gave this INFO can't be a voter.
func fit(info string) error {
	if field(info, "redis_mode") == "cluster" {
		return fmt.Errorf("%w: it is a node of a Redis Cluster, where an independent master is needed", guard.ErrUnsafe)
	}
	if role := field(info, "role"); role != "" && role != "master" {
		return fmt.Errorf("%w: it is a replica, where an independent master is needed", guard.ErrUnsafe)
	}
	policy, limit := field(info, "maxmemory_policy"), field(info, "maxmemory")
	if limit != "" && limit != "0" && policy != "noeviction" {
		return fmt.Errorf("%w: it may evict locks (maxmemory-policy %s): set it to noeviction", guard.ErrUnsafe, policy)
	}
	return nil
}

// kill ends another connection to the same process, so that nothing which was sent
// over it can still be executed. That it is gone already is as good. It is refused where
// an ACL, or the server, does not let it: an orphan key ends by itself.
func (s *session) kill(ctx context.Context, id int64) (refused bool, err error) {
	err = s.conn.Do(ctx, "client", "kill", "id", id).Err()
	if isReply(err) {
		return !strings.Contains(err.Error(), "No such client"), nil
	}
	return false, err
}

// check asks whether the connection still is one, and whether the master has begun to
// evict keys since the handshake.
func (s *session) check(ctx context.Context) error {
	memory, err := s.conn.Info(ctx, "memory").Result()
	if err != nil {
		return errStale
	}
	return fit(memory)
}

// exchange sends a batch as one pipeline and answers every request in it, in order.
// It returns the releases of which nobody knows whether they were done; its error
// says that the connection must not be used any more.
func (s *session) exchange(ctx context.Context, batch []Request, now clock.Instant) (owed []Request, broken error) {
	pipe := s.conn.Pipeline()
	commands := make([]command, len(batch))
	for i, r := range batch {
		commands[i] = s.send(ctx, pipe, r)
	}
	end := s.sendTail(ctx, pipe, batch, now)
	if _, broken = pipe.Exec(ctx); isReply(broken) {
		broken = nil
	}
	tail, err := s.readTail(end, broken)
	broken = cmp.Or(s.explain(broken), err)
	for i := range commands {
		reply := commands[i].decode()
		reply.Run = s.run
		if end != nil && commands[i].op.needsTail() {
			reply.Tail = tail
			if tail == nil && reply.Err == nil {
				reply = Reply{Run: s.run, Err: broken} // it may have acted
			}
		}
		switch {
		case broken == nil && unfit(reply.Err):
			broken = reply.Err
		case broken != nil && reply.Err != nil && !isReply(reply.Err):
			reply.Err = broken // says more
		}
		if commands[i].op == Release && reply.Err != nil {
			owed = append(owed, commands[i].Request)
		}
		commands[i].answer(reply)
	}
	return owed, broken
}

func (s *session) send(ctx context.Context, pipe redis.Pipeliner, r Request) command {
	c := command{Request: r, first: redis.NewCmd(ctx, r.args...)}
	switch r.op {
	case Look:
		return c // the tail is all of it
	case Inspect:
		c.second = redis.NewCmd(ctx, "pttl", r.args[1])
	case Describe:
		// Not all of it: passwords are among the rest.
		c.second = redis.NewCmd(ctx, "config", "get", "append*")
		c.third = redis.NewCmd(ctx, "config", "get", "save")
	default: // one command
	}
	_ = pipe.Process(ctx, c.first)
	if c.second != nil {
		_ = pipe.Process(ctx, c.second)
	}
	if c.third != nil {
		_ = pipe.Process(ctx, c.third)
	}
	return c
}

// isReply reports whether err is something that the master said, so that the
// connection itself is sound.
func isReply(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// Info is what INFO prints.
type Info string

// Field returns the value of one line; "" if there is none.
func (i Info) Field(name string) string { return field(string(i), name) }

// field returns the value of one line of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// explain says what a time-out means, where package net names only its sockets.
func (s *session) explain(err error) error {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return fmt.Errorf("no answer within %v: is it hung, or the network cut?", s.timeout)
	}
	return err
}
