package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/fence"
	"github.com/quorumlock/redlock-go/internal/locks"
	"github.com/quorumlock/redlock-go/redlock"
)

// clientEnv says to a process that it is a client, and which.
const clientEnv = "REDLOCK_LAB_CLIENT"

// setup is what a client is told first.
type setup struct {
	Kind     string // of lock
	Masters  []string
	MaxTTL   time.Duration
	Shifted  bool // its lock is not ours: it goes by a clock that can be shifted
	Resource string
	Fenced   bool // the resource checks fences
}

// order is what a client is told to do, and answer what came of it.
type order struct {
	Do      verb
	Name    string        `json:",omitempty"`
	TTL     time.Duration `json:",omitempty"`
	Timeout time.Duration `json:",omitempty"`
	By      time.Duration `json:",omitempty"`
	Sales   int           `json:",omitempty"`
}

type verb string

const (
	acquire verb = "acquire"
	release verb = "release"
	extend  verb = "extend"
	check   verb = "check" // until when it believes
	shift   verb = "shift" // its clock
	read    verb = "read"  // the resource
	write   verb = "write" // what was read, and one more
	sell    verb = "sell"  // again and again: acquire, read, write, release
)

type answer struct {
	From, At clock.Instant
	Until    clock.Instant `json:",omitempty"`
	Fence    uint64        `json:",omitempty"`
	Value    int           `json:",omitempty"`
	Why      why           `json:",omitempty"` // it failed
	Err      string        `json:",omitempty"`
	Sales    []sale        `json:",omitempty"`
}

// sale is one hold of a client that sells.
type sale struct{ From, To clock.Instant }

// why says in one word why something failed.
type why string

const (
	held        why = "held"
	refused     why = "refused"
	unreachable why = "unreachable"
	stale       why = "stale"  // the resource has seen a later fence
	broken      why = "broken" // in a way that is not what the lab is about
)

// Main is to be called first in a program that calls [Run], whose clients are processes of
// the same program: in one that is a client it does not return.
func Main() {
	text := os.Getenv(clientEnv)
	if text == "" {
		return
	}
	redis.SetLogger(silent{}) // it says of each master that is down that it is
	var s setup
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = s.run(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "a client of the lab:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// run obeys until standard input ends, which it does with the lab at the latest.
func (s *setup) run(in io.Reader, out io.Writer) error {
	w, err := s.worker()
	if err != nil {
		return err
	}
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		switch err := orders.Decode(&o); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		a := answer{From: clock.System.Now()}
		err := w.obey(o, &a)
		a.At = clock.System.Now()
		if err != nil {
			a.Err, a.Why = err.Error(), whyOf(err)
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func whyOf(err error) why {
	switch {
	case errors.Is(err, locks.ErrUnsafe):
		return refused
	case errors.Is(err, locks.ErrHeld):
		return held
	case strings.HasPrefix(err.Error(), "STALEFENCE"):
		return stale
	case errors.As(err, new(net.Error)), errors.Is(err, io.EOF), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, redlock.ErrExpired), errors.Is(err, locks.ErrUnreachable):
		return unreachable
	}
	return broken
}

// shifted is a clock that can be shifted: one that is set, or stands still in a suspend.
type shifted struct{ by atomic.Int64 }

func (s *shifted) Now() clock.Instant { return clock.System.Now().Add(time.Duration(s.by.Load())) }

// worker is a client that does one thing after another.
type worker struct {
	*setup
	clock    *shifted
	lock     locks.Lock
	hold     locks.Held
	resource *redis.Client
	value    int // as read
}

func (s *setup) worker() (*worker, error) {
	w := &worker{setup: s, clock: &shifted{}}
	var err error
	w.lock, err = w.open()
	w.resource = redis.NewClient(&redis.Options{Addr: s.Resource, MaxRetries: -1, ContextTimeoutEnabled: true})
	return w, err
}

func (w *worker) open() (locks.Lock, error) {
	c := locks.Config{Masters: w.Masters, MaxTTL: w.MaxTTL, Timeout: time.Second}
	if w.Shifted {
		c.Clock = w.clock
	}
	return locks.Open(w.Kind, c)
}

func (w *worker) obey(o order, a *answer) (err error) {
	ctx := context.Background()
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	switch o.Do {
	case acquire:
		if w.hold, err = w.lock.Acquire(ctx, o.Name, o.TTL); err == nil {
			a.Until, a.Fence = w.hold.Until(), w.hold.Fence()
		}
	case release:
		a.Until = w.hold.Until() // some are told that they have lost it
		err = w.hold.Release(ctx)
	case extend:
		err = w.hold.Extend(ctx)
		a.Until = w.hold.Until()
	case check:
		a.Until = w.hold.Until()
	case shift:
		w.clock.by.Add(int64(o.By))
	case read:
		err = w.read(ctx, o.Name)
		a.Value = w.value
	case write:
		a.Value = w.value + 1
		err = w.write(ctx, o.Name)
	case sell:
		a.Sales, err = w.sell(ctx, o)
	}
	return err
}

// read takes what the resource has now: the last of all values that were written.
func (w *worker) read(ctx context.Context, name string) error {
	text, err := w.use(ctx, name, "lindex", "-1").Text()
	if errors.Is(err, redis.Nil) {
		text, err = "0", nil
	}
	if err == nil {
		w.value, err = strconv.Atoi(text)
	}
	return err
}

func (w *worker) write(ctx context.Context, name string) error {
	return w.use(ctx, name, "rpush", strconv.Itoa(w.value+1)).Err()
}

var fenced = redis.NewScript(fence.Redis)

func (w *worker) use(ctx context.Context, name, command, arg string) *redis.Cmd {
	if !w.Fenced {
		return w.resource.Do(ctx, command, name, arg)
	}
	return fenced.Run(ctx, w.resource, []string{name, name + ":fence"}, w.hold.Fence(), command, arg)
}

// sellers is how many of a client's workers stand at the counter at a time.
const sellers = 2

// sell has as many workers as there are sales sell one piece each.
func (w *worker) sell(ctx context.Context, o order) ([]sale, error) {
	var all sync.WaitGroup
	counters := make(chan *worker, sellers)
	for range sellers {
		c := *w // ours is one for the whole process
		if w.Shifted {
			var err error
			if c.lock, err = w.open(); err != nil {
				return nil, err
			}
		}
		counters <- &c
	}
	sales, errs := make([]sale, o.Sales), make([]error, o.Sales)
	for i := range o.Sales {
		all.Go(func() {
			c := <-counters
			defer func() { counters <- c }()
			sales[i], errs[i] = c.sale(ctx, o)
		})
	}
	all.Wait()
	return sales, errors.Join(errs...)
}

func (w *worker) sale(ctx context.Context, o order) (s sale, err error) {
	if w.hold, err = w.lock.Acquire(ctx, o.Name, o.TTL); err != nil {
		return s, err
	}
	s.From = clock.System.Now()
	until := w.hold.Until()
	if err = w.read(ctx, o.Name); err == nil {
		err = w.write(ctx, o.Name)
	}
	s.To = min(clock.System.Now(), until)
	return s, errors.Join(err, w.hold.Release(ctx))
}
