package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// Client takes locks on a set of masters. Make one and share it: it is safe for
// concurrent use, and each master is reached over one connection, however many
// goroutines lock.
type Client struct {
	masters []*master.Master
	maxTTL  time.Duration
	prefix  string
	drift   clock.Drift
	clock   clock.Clock
	trace   Trace
	fencing *fencing // nil for none
	lines   lines
	guard   *guard.Guard // nil for none
	keeper  *keeper      // of the guard

	lastTrip atomic.Int64 // how long the votes took that won last, in nanoseconds
	compared atomic.Int64 // when the masters' clocks were last compared, by clock

	busy    sync.RWMutex // held for reading by what Close must wait for
	closing sync.Once
	closed  context.Context //nolint:containedctx // ends with Close; no call's context
	end     context.CancelFunc
}

// New returns a client of the masters in o. It checks all of o, and connects to a
// master when that is first asked. Close the client when it is no longer needed.
func New(o Options) (*Client, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	connections, err := o.connections()
	if err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	c := &Client{maxTTL: o.MaxTTL, prefix: o.Prefix, drift: o.Drift, clock: o.Clock, trace: *o.Trace}
	c.closed, c.end = context.WithCancel(context.Background())
	span := guard.Span(o.MaxTTL)
	if o.Unguarded {
		span = 0
	}
	var addresses []string
	for _, r := range connections {
		c.masters = append(c.masters, master.New(r, o.Clock, span))
		addresses = append(addresses, r.Addr)
	}
	if o.Fencing {
		c.fencing = &fencing{}
	}
	if !o.Unguarded {
		c.guardWith(addresses)
	}
	c.lines.masters = c.masters
	c.lines.prefix = c.prefix
	return c, nil
}

// Warnings says what is allowed but weaker than it looks: a number of masters that
// survives no failure, or one more than it needs.
func (c *Client) Warnings() []string {
	n := len(c.masters)
	switch {
	case n == 1:
		return []string{"one master: no failure is survived; use three or five"}
	case n%2 == 0:
		return []string{fmt.Sprintf("%d masters survive no more failures than %d: use an odd number", n, n-1)}
	}
	return nil
}

// Close ends the client's connections and returns when all its goroutines have ended.
// Calls in progress fail with [ErrClosed]. Leases that are held are not released, as
// their holders may be at work: they can't be extended any more, and end by
// themselves. Close is idempotent, and its error is always nil.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.end()
		c.busy.Lock() // attempts that are under way clean up first
		defer c.busy.Unlock()
		var lanes sync.WaitGroup
		for _, m := range c.masters {
			lanes.Go(m.Close)
		}
		lanes.Wait()
		if c.guard != nil {
			c.keeper.close()
		}
	})
	return nil
}

// Holding is what one master says of a name.
type Holding struct {
	Master string        // its address
	Token  string        // of the holder; "" if it is nobody's
	Left   time.Duration // how much longer the key lives (a holder stops before); negative: for ever
	Err    error         // why the master could not say
}

// Inspect returns what each master says of name, in the order of Options.Masters.
// It changes nothing, and proves nothing about the next moment. The error is
// [ErrNoQuorum] when fewer than a majority could say; the holdings are returned too.
func (c *Client) Inspect(ctx context.Context, name string) ([]Holding, error) {
	const op = "inspect"
	if err := c.checkName(name); err != nil {
		return nil, &Error{Op: op, Name: name, Err: err}
	}
	if err := c.alive(ctx); err != nil {
		return nil, &Error{Op: op, Name: name, Err: err}
	}
	q := c.newQuestion([]string{name}, clock.Never)
	q.ask(master.NewInspect(c.prefix + name))
	holdings := make([]Holding, len(c.masters))
	for i, m := range c.masters {
		holdings[i] = Holding{Master: m.Addr(), Err: errNoAnswer}
	}
	runs := make([]string, len(c.masters))
	for range c.masters {
		select {
		case r := <-q.replies:
			holdings[r.Voter] = Holding{Master: c.masters[r.Voter].Addr(), Token: r.Token, Left: r.Left, Err: r.Err}
			runs[r.Voter] = r.Run
		case <-ctx.Done():
			return holdings, &Error{Op: op, Name: name, Err: ended(ctx)}
		}
	}
	said := 0
	for i := range holdings {
		if err := c.sameMaster(runs, i); err != nil {
			holdings[i] = Holding{Master: holdings[i].Master, Err: err}
		}
		if holdings[i].Err == nil {
			said++
		}
	}
	if said < quorum.Majority(len(c.masters)) {
		return holdings, &Error{Op: op, Name: name, Err: fmt.Errorf("%w: %d of %d masters could say", ErrNoQuorum, said, len(c.masters))}
	}
	return holdings, nil
}

// sameMaster returns an error if the i-th address leads to a master that one before it
// leads to, by the run_ids that they gave; "" is none.
func (c *Client) sameMaster(runs []string, i int) error {
	if first := slices.Index(runs, runs[i]); runs[i] != "" && first < i {
		return fmt.Errorf("%w: it is the same master as %s", ErrUnsafe, c.masters[first].Addr())
	}
	return nil
}

var errNoAnswer = errors.New("no answer yet")

// Unlock releases name on every master where it is held by token, whoever took it: for
// operators, and for handing a lock over to another process. It returns nil when a
// majority has let go, [ErrNotHeld] when token holds the name nowhere near a majority,
// and [ErrNoQuorum] when too few masters answered. It waits for every master that can be
// reached.
func (c *Client) Unlock(ctx context.Context, name, token string) error {
	const op = "unlock"
	if err := c.checkName(name); err != nil {
		return &Error{Op: op, Name: name, Err: err}
	}
	if token == "" {
		return &Error{Op: op, Name: name, Err: errors.New("the token is empty")}
	}
	if err := c.alive(ctx); err != nil {
		return &Error{Op: op, Name: name, Err: err}
	}
	q := c.askRelease([]string{name}, token, c.gone(c.clock.Now(), c.maxTTL), nil)
	q.countAll()
	return q.verdict(op, q.count(context.Background()))
}

// trip returns about how long an attempt takes. Who waits spreads out by it.
func (c *Client) trip() time.Duration {
	const usual, most = time.Millisecond, 100 * time.Millisecond
	return min(cmp.Or(time.Duration(c.lastTrip.Load()), usual), most)
}

func (c *Client) checkName(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	if c.prefix+name == master.RecordKey {
		return fmt.Errorf("its key would be %s, where the masters keep who may vote: choose another name, or a Prefix", master.RecordKey)
	}
	return nil
}

func (c *Client) checkTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > c.maxTTL {
		return fmt.Errorf("ttl is %v: it must be at least %v and at most MaxTTL, which is %v", ttl, MinTTL, c.maxTTL)
	}
	return nil
}

// alive returns why nothing should be sent at all.
func (c *Client) alive(ctx context.Context) error {
	if c.closed.Err() != nil {
		return ErrClosed
	}
	return ended(ctx)
}

// ended returns why ctx ended, so that errors.Is finds both context's own error and
// the cause that its owner gave; nil if it has not ended.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err != nil && !errors.Is(cause, err) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
