package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/locks"
)

// clientEnv says to a test binary that it is a client.
const clientEnv = "REDLOCK_CHAOS_CLIENT"

// client is what a client process is told.
type client struct {
	Name     string // of the process
	Seed     uint64
	Kind     string   // of lock
	Masters  []string // as the network has them
	Direct   []string // as they are
	Resource string
	Checks   bool // the resource checks fences
	Names    []string
	Workers  int
	MinTTL   time.Duration
	MaxTTL   time.Duration
	Habits   Habits
	File     string // for its history
}

// Habits are how holders behave: of a thousand holds, how many are …
type Habits struct {
	Stay    int // extended, for up to three times the ttl
	Overrun int // not let go in time: the holder writes when it has lost the lock
	Suspend int // followed by a jump of the process's clock, as after a suspend
}

// Main is to be called first in TestMain of whoever calls [Run]: it does not return in a
// process that is a client.
func Main() {
	text := os.Getenv(clientEnv)
	if text == "" {
		return
	}
	var c client
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	redis.SetLogger(silent{}) // it says of each master that is down that it is
	if err := c.run(); err != nil {
		fmt.Fprintf(os.Stderr, "client %s: %v\n", c.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run works until standard input ends, which it does with the test at the latest.
func (c *client) run() error {
	rec, err := newRecorder(c.File)
	if err != nil {
		return err
	}
	own := &jumpy{}
	lock, err := locks.Open(c.Kind, locks.Config{Masters: c.Masters, MaxTTL: c.MaxTTL, Clock: own})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	eyes := c.eyes()
	for i := range c.Workers {
		w := &worker{
			client: c, id: fmt.Sprintf("%s.%d", c.Name, i), rec: rec, lock: lock, clock: own, eyes: eyes,
			resource: openResource(c.Resource, c.Checks), rng: rand.New(rand.NewPCG(c.Seed, uint64(i))),
		}
		all.Go(func() { w.work(ctx) })
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	if err := lock.Close(); err != nil {
		return err
	}
	return rec.close()
}

// eyes are connections that look at what masters have, past the network's faults.
func (c *client) eyes() []*redis.Client {
	var eyes []*redis.Client
	for _, addr := range c.Direct {
		eyes = append(eyes, redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond,
		}))
	}
	return eyes
}

// jumpy is a clock that jumps ahead: to the client, the machine was suspended.
type jumpy struct{ ahead atomic.Int64 }

func (j *jumpy) Now() clock.Instant {
	return clock.System.Now().Add(time.Duration(j.ahead.Load()))
}

// worker locks again and again.
type worker struct {
	*client
	id       string
	attempts int
	rec      *recorder
	lock     locks.Lock
	clock    *jumpy
	eyes     []*redis.Client
	resource *resource
	rng      *rand.Rand
}

func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		w.attempts++
		e := Event{Client: w.Name, ID: fmt.Sprintf("%s.%d", w.id, w.attempts), Name: w.Names[w.rng.IntN(len(w.Names))]}
		ttl := w.MinTTL + w.upTo(w.MaxTTL-w.MinTTL)
		w.write(e, Begin)
		patience, cancel := context.WithTimeout(ctx, 10*w.MaxTTL)
		held, err := w.lock.Acquire(patience, e.Name, ttl)
		cancel()
		if err != nil {
			e.Detail = err.Error()
			w.write(e, Failed)
			time.Sleep(w.upTo(10 * time.Millisecond)) // some fail at once
			continue
		}
		e.Until, e.Fence = held.Until(), held.Fence()
		w.write(e, Held)
		w.hold(ctx, e, held, ttl)
	}
}

func (w *worker) upTo(d time.Duration) time.Duration {
	return time.Duration(w.rng.Int64N(int64(d) + 1))
}

func (w *worker) write(e Event, k Kind) {
	e.Kind = k
	w.rec.write(e)
}

// hold does what a holder does, according to its habits.
func (w *worker) hold(ctx context.Context, e Event, held locks.Held, ttl time.Duration) {
	if w.attempts%16 == 0 {
		e.Sights = w.look(ctx, e.Name, held.Token())
		w.write(e, Seen)
		e.Sights = nil
	}
	w.use(e, time.Millisecond)
	switch n := w.rng.IntN(1000); {
	case n < w.Habits.Stay:
		w.stay(ctx, e, held, ttl)
	case n < w.Habits.Stay+w.Habits.Overrun:
		w.use(e, 2*ttl) // it writes when another may have the lock
	case n < w.Habits.Stay+w.Habits.Overrun+w.Habits.Suspend:
		e.Jump = w.upTo(3 * w.MaxTTL)
		w.write(e, Suspended)
		w.clock.ahead.Add(int64(e.Jump))
		e.Jump = 0
	}
	w.write(e, End)
	_ = held.Release(ctx) // it says so where the lock was lost
}

func (w *worker) stay(ctx context.Context, e Event, held locks.Held, ttl time.Duration) {
	for end := clock.System.Now().Add(w.upTo(3 * ttl)); clock.System.Now().Before(end) && ctx.Err() == nil; {
		pause(ctx, ttl/4)
		if held.Extend(ctx) == nil {
			e.Until = held.Until()
			w.write(e, Extended)
		}
		w.use(e, time.Millisecond)
	}
}

// pause waits, and is cut short when the run ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// use reads the resource and writes what it has read, some time later.
func (w *worker) use(e Event, later time.Duration) {
	ctx := context.Background() // what is begun is done, also when the run ends
	n, err := w.resource.length(ctx, e.Name, e.Fence)
	if err == nil {
		time.Sleep(later/2 + w.upTo(later/2))
		err = w.resource.append(ctx, e.Name, e.Fence, n)
	}
	if err != nil {
		e.Detail = err.Error()
		w.write(e, Refused)
		return
	}
	w.write(e, Wrote)
}

// look asks the masters themselves how long they keep a token.
func (w *worker) look(ctx context.Context, name, token string) []Sight {
	var sights []Sight
	for i, c := range w.eyes {
		now := clock.System.Now() // before the master's: what is left is counted from here
		var got *redis.StringCmd
		var left *redis.DurationCmd
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			got, left = p.Get(ctx, name), p.PTTL(ctx, name)
			return nil
		})
		if err == nil && got.Val() == token {
			// A master counts whole milliseconds.
			sights = append(sights, Sight{Master: i + 1, Until: now.Add(left.Val() + time.Millisecond)})
		}
	}
	return sights
}
