package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/embedded"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

const (
	name   = "stock" // of the lock, and of the resource
	maxTTL = 2 * time.Second
	// grace is how much longer than the lease our keys live.
	grace = 500 * time.Millisecond
	// prompt is how soon whoever wants a lock has it once it can be had: all that was
	// granted is over by then, and a master that forgot has its vote back.
	prompt = maxTTL + grace + 2*time.Second
	// soon is how soon they have it where nothing of that stands in the way.
	soon = time.Second
)

// quickly has a replica get what its master has at once.
func quickly() []redistest.Option {
	return []redistest.Option{redistest.Args("--repl-diskless-sync-delay", "0")}
}

// stage is a cell being staged.
type stage struct {
	*scene
	design   Design
	rng      *rand.Rand
	rec      *record
	inside   bool // this process: embedded masters, that can't be broken
	masters  []*master
	replica  *redistest.Master // of the master that a fault strikes
	lag      *proxy.Proxy      // between that one and its replica
	upstream *redistest.Master // that the struck one follows
	vault    string            // address of the resource
	forgot   bool              // a master has no vote for a while
	clients  []*client
	quiet    bool // too much happens to write all of it down
}

// master is one that the lock votes on.
type master struct {
	*redistest.Master // nil for an embedded one
	addr              string
	lane              string
	look              *redis.Client
}

// open starts the masters of the design, with the options that the fault needs.
func (s *stage) open(f *Fault) {
	var addrs []string
	var servers []*redistest.Master
	if s.inside {
		m, err := embedded.Start(s.design.masters() + 1)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(m.Close)
		addrs = m.Addrs()
	} else {
		options := quickly()
		if f.options != nil {
			options = append(options, f.options(s)...)
		}
		servers = append(redistest.Start(s, s.design.masters(), options...), redistest.Start(s, 1)...)
		addrs = redistest.Addrs(servers)
	}
	last := len(addrs) - 1
	s.vault = addrs[last]
	for i, addr := range addrs[:last] {
		m := &master{addr: addr, lane: "master"}
		if last > 1 {
			m.lane = fmt.Sprintf("master %d", i+1)
		}
		if servers != nil {
			m.Master = servers[i]
		}
		m.look = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second})
		s.Cleanup(func() { _ = m.look.Close() })
		s.masters = append(s.masters, m)
	}
}

// found makes the masters a group, for locks that need one. It reports whether they may be.
func (s *stage) found() bool {
	if !s.design.ours || s.inside {
		return true
	}
	var addrs []string
	for _, m := range s.masters {
		addrs = append(addrs, m.addr)
	}
	c, err := redlock.New(redlock.Options{Masters: addrs, MaxTTL: maxTTL})
	if err == nil {
		defer func() { _ = c.Close() }()
		err = c.Init(context.Background())
	}
	if errors.Is(err, redlock.ErrUnsafe) {
		at := s.rec.since(clock.System.Now())
		s.rec.lane("operator")
		s.rec.note("operator", Deed, clock.System.Now(), "can't make the masters a group: "+err.Error())
		s.rec.ask(Ask{Lane: "operator", From: at, To: at, Why: refused, Err: err.Error()})
		return false
	}
	if err != nil {
		s.Fatalf("make the masters a group: %v", err)
	}
	return true
}

// struck is the master on which the whole of a fault comes down: of five the third, which
// is in the majority of one client and in that of the other.
func (s *stage) struck() *master { return s.masters[len(s.masters)/2] }

// strike does something to a master, at some time within the next 50 ms.
func (s *stage) strike(m *master, what string, how func()) {
	time.Sleep(s.upTo(50 * time.Millisecond))
	s.rec.note(m.lane, Struck, clock.System.Now(), what)
	how()
}

func (s *stage) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d))) }

// follow gives the struck master a replica, over a network of its own.
func (s *stage) follow() {
	m := s.struck()
	s.replica = redistest.Start(s, 1)[0]
	s.lag = proxy.Start(s, m.addr)
	s.replica.FollowAt(s.lag.Addr())
}

// failOver has the replica take the place of the struck master, which is dead.
func (s *stage) failOver() {
	s.replica.PromoteAsIs()
	for _, c := range s.clients {
		if f := c.front(s.struck()); f != nil {
			f.Lead(s.replica.Addr())
			f.Cut()
		}
	}
	s.rec.note(s.struck().lane, Struck, clock.System.Now(), "its replica takes its place")
}

// leftover returns the lock's key on the struck master, nil if there is none.
func (s *stage) leftover() *Leftover { return keyOn(s.struck().look, s.struck().lane) }

func keyOn(c *redis.Client, lane string) *Leftover {
	ctx := context.Background()
	keys, _ := c.Keys(ctx, "*"+name).Result()
	for _, key := range keys {
		left := c.PTTL(ctx, key).Val()
		if left == -1 {
			return &Leftover{lane, -1}
		}
		if left > 0 {
			return &Leftover{lane, millis(left)}
		}
	}
	return nil
}

// values returns what was written to the resource.
func (s *stage) values() []int {
	c := redis.NewClient(&redis.Options{Addr: s.vault})
	defer func() { _ = c.Close() }()
	var values []int
	if err := c.LRange(context.Background(), name, 0, -1).ScanSlice(&values); err != nil {
		s.Fatalf("the resource: %v", err)
	}
	return values
}

// refusals returns how many requests the resource has refused for their fence.
func (s *stage) refusals() (n int) {
	c := redis.NewClient(&redis.Options{Addr: s.vault})
	defer func() { _ = c.Close() }()
	_, _ = fmt.Sscanf(redistest.Field(c.Info(context.Background(), "errorstats").Val(), "errorstat_STALEFENCE"), "count=%d", &n)
	return n
}

// evidence ends the cell's record.
func (s *stage) evidence() Evidence {
	e := s.rec.evidence()
	e.Struck = s.struck().lane
	for _, m := range s.masters {
		e.Lanes = append(e.Lanes, m.lane)
	}
	if e.values = s.values(); len(e.values) > 0 {
		e.Lanes = append(e.Lanes, "resource")
		e.Writes, e.Lost = len(e.values), lost(e.values)
		e.Stale = s.refusals()
	}
	for i := range e.Asks {
		e.Asks[i].late = e.Asks[i].wait(e.Holds) > e.Asks[i].limit
		if !e.Asks[i].Got {
			e.Left = s.leftover()
		}
	}
	return e
}
