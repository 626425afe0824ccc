package redlock

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// guard decides whose votes count: those of masters that remember all they granted (see
// package tenure), and whose clocks ran evenly meanwhile. Its methods are safe for
// concurrent use.
type guard struct {
	list    tenure.List
	masters []*master.Master
	keeper  *keeper
	calm    atomic.Pointer[calm]
	looked  atomic.Int64 // when clocks were last compared, by the client's clock
}

func newGuard(c *Client) *guard {
	g := &guard{masters: c.masters, list: tenure.List{MaxTTL: c.maxTTL, Tolerance: clock.Tolerance}}
	for _, m := range c.masters {
		g.list.Addresses = append(g.list.Addresses, m.Addr())
	}
	g.keeper = newKeeper(c, g.list)
	return g
}

// guard returns what the masters need of the guard; nil for none.
func (o Options) guard() *master.Guard {
	if o.Unguarded {
		return nil
	}
	return &master.Guard{Span: o.MaxTTL + clock.Grace, Tolerance: clock.Tolerance}
}

// Why a vote does not count. What can be done about it, the keeper's standings tell.
var (
	errNoTenure = errors.New("it may have forgotten what it granted")
	errBlurred  = fmt.Errorf("its answer took longer than %v: whether its clock runs evenly can't be told", clock.Tolerance)
	errStrange  = errors.New("too few other masters answer to tell whether its clock is right")
	errAstray   = errors.New("its clock is not that of most others")
	errOutrank  = errors.New("others know that it may have forgotten what it granted")
	errApart    = fmt.Errorf("%w: it belongs to another group than the others: is it in the right list? If it replaces a master, say so (redlock replace)", ErrUnsafe)
)

// admit returns why the vote of the master that said this can't count, whatever the others
// say.
func (g *guard) admit(voter int, t *master.Tail) error {
	known := g.calm.Load()
	switch {
	case !t.Record.Tenured(t.Process):
		return errNoTenure
	case !known.has(voter, t) && !g.list.Fits(*t.Record):
		return g.foreign(*t.Record)
	case t.Sight == quorum.Stepped:
		return fmt.Errorf("its clock was stepped by %v: keys may have ended too soon", t.Step.Round(time.Millisecond))
	case t.Sight == quorum.Blurred:
		return errBlurred
	}
	return nil
}

// foreign says what is different between a record and this client.
func (g *guard) foreign(r tenure.Record) error {
	switch {
	case r.N != len(g.list.Addresses):
		return fmt.Errorf("%w: it is one of %d masters, and this client has a list of %d: give all clients the same list", ErrUnsafe, r.N, len(g.list.Addresses))
	case r.MaxTTL != g.list.MaxTTL:
		return fmt.Errorf("%w: its MaxTTL is %v, and this client's is %v: give all clients the same, or initialise the masters anew", ErrUnsafe, r.MaxTTL, g.list.MaxTTL)
	default:
		return fmt.Errorf("%w: its tolerance is %v, and this client's is %v: give all clients the same version", ErrUnsafe, r.Tolerance, g.list.Tolerance)
	}
}

// count counts the votes that were granted, by what the masters said with them. Those that
// were not heard of are nil.
func (g *guard) count(tails []*master.Tail, granted func(voter int) bool) int {
	counts := func(i int) bool {
		return granted(i) && (tails[i].Sight == quorum.Steady || g.agrees(tails, i))
	}
	if known := g.calm.Load(); known.hasAll(tails) {
		n := 0
		for i := range tails {
			if counts(i) {
				n++
			}
		}
		return n
	}
	view := make([]tenure.Reply, len(tails))
	for i, t := range tails {
		if t != nil {
			view[i] = t.Reply()
		}
	}
	g.learnCalm(tails, view)
	n, all := g.list.Count(view, counts), 0
	for i := range tails {
		if granted(i) {
			all++
		}
	}
	if n < all {
		g.keeper.wake()
	}
	return n
}

// calm is records that stand together, as they nearly always do: whatever part of them a
// round meets, all its votes count. They are found out once, and known by their pointers.
type calm struct{ records []*tenure.Record }

// has reports whether a master said the same again, and still has tenure.
func (c *calm) has(voter int, t *master.Tail) bool {
	return c != nil && c.records[voter] == t.Record && t.Record.Tenured(t.Process)
}

func (c *calm) hasAll(tails []*master.Tail) bool {
	for i, t := range tails {
		if t != nil && !c.has(i, t) {
			return false
		}
	}
	return true
}

// learnCalm remembers what stands together, of what was said now, and of what is known.
func (g *guard) learnCalm(tails []*master.Tail, view []tenure.Reply) {
	all := &calm{records: make([]*tenure.Record, len(tails))}
	together := slices.Clone(view)
	known, said := g.calm.Load(), 0
	for i, t := range tails {
		switch {
		case t != nil:
			all.records[i] = t.Record
		case known != nil && known.records[i] != nil:
			all.records[i] = known.records[i]
			together[i] = tenure.Reply{Heard: true, Process: known.records[i].Identity, Record: *known.records[i]}
		default:
			continue
		}
		said++
	}
	if g.list.Count(together, func(i int) bool { return all.records[i] != nil }) == said {
		g.calm.Store(all)
	} else {
		g.calm.Store(nil)
	}
}

// agrees reports whether a majority of the masters' clocks agree with one's, each but for
// how far off it was when it was armed.
func (g *guard) agrees(tails []*master.Tail, i int) bool {
	own, near := tails[i].Offset.Less(tails[i].Record.Skew), 0
	for _, t := range tails {
		if t != nil && t.Offset.Less(t.Record.Skew).Near(own, clock.Tolerance) {
			near++
		}
	}
	return near >= quorum.Majority(len(tails))
}

// won takes what the masters said in a round that was won: clocks that agree are trusted
// from now on, and those that drifted are to be written down.
func (g *guard) won(tails []*master.Tail, now clock.Instant) {
	last := g.looked.Load()
	if now.Sub(clock.Instant(last)) > time.Second && g.looked.CompareAndSwap(last, int64(now)) {
		for i, t := range tails {
			if t != nil && drifted(tails, i) {
				g.keeper.wake()
			}
		}
	}
	for i, t := range tails {
		if t != nil && t.Sight == quorum.Strange && g.agrees(tails, i) {
			g.masters[i].Trust(t)
		}
	}
}

// objection returns why a vote that was granted did not count: nil if it did.
func (g *guard) objection(tails []*master.Tail, i int) error {
	if err := g.admit(i, tails[i]); err != nil {
		return err
	}
	if tails[i].Sight == quorum.Strange && !g.agrees(tails, i) {
		if heard(tails) < quorum.Majority(len(tails)) {
			return errStrange
		}
		return errAstray
	}
	if g.count(tails, func(voter int) bool { return voter == i }) == 0 {
		return outranked(tails, i)
	}
	if tails[i].Record.Group != commonest(tails) {
		return errApart
	}
	return nil
}

// commonest returns the group that most of the masters have tenure in.
func commonest(tails []*master.Tail) (group string) {
	most := 0
	size := map[string]int{}
	for _, t := range tails {
		if t == nil || t.Tenure() == "" {
			continue
		}
		g := t.Record.Group
		if size[g]++; size[g] > most {
			group, most = g, size[g]
		}
	}
	return group
}

func heard(tails []*master.Tail) int {
	n := 0
	for _, t := range tails {
		if t != nil {
			n++
		}
	}
	return n
}

// outranked says who has a later term of a master's seat.
func outranked(tails []*master.Tail, i int) error {
	r := tails[i].Record
	own := r.Terms[r.Seat-1]
	for _, t := range tails {
		if t == nil || t.Record.Group != r.Group || t.Tenure() == "" {
			continue
		}
		if known := t.Record.Terms[r.Seat-1]; known.No > own.No && known.Address != own.Address {
			return fmt.Errorf("%w: its place was given to %s: give all clients the new list", ErrUnsafe, known.Address)
		}
	}
	return errOutrank
}

// advice says what is to be done about a master without tenure.
func (g *guard) advice(s tenure.Standing, tails []*master.Tail) error {
	switch {
	case s.State == tenure.Waiting:
		return fmt.Errorf("%w: it votes again in %v", errNoTenure, roundUp(s.Left))
	case s.State == tenure.Homeless:
		return fmt.Errorf("%w: no seat of the group has its address: if it replaces a master, say so (redlock replace)", ErrUnsafe)
	case s.State == tenure.Empty, s.State == tenure.Alone && neverFounded(tails):
		return fmt.Errorf("%w: too few of these masters know that they belong together: once no lock is held, initialise them (redlock init)", ErrUnsafe)
	case s.State == tenure.Alone:
		return fmt.Errorf("%w, as did most: all masters must answer before they vote again", errNoTenure)
	default:
		return fmt.Errorf("%w: it is about to wait until that is over", errNoTenure)
	}
}

// neverFounded reports whether a majority of the masters know of no group.
func neverFounded(tails []*master.Tail) bool {
	blank := 0
	for _, t := range tails {
		if t != nil && t.Record.Group == "" {
			blank++
		}
	}
	return blank >= quorum.Majority(len(tails))
}

// errStoodStill is why all leases end when the masters' clocks have moved together.
var errStoodStill = fmt.Errorf("%w: this machine's clock stood still", ErrExpired)

// clockStoodStill drops all leases: their holders' clock does not tell when they end. What
// was known of the masters' clocks is worth nothing either.
func (c *Client) clockStoodStill() {
	for _, m := range c.masters {
		m.ForgetClock()
	}
	for _, h := range c.lines.all() {
		h.drop(errStoodStill)
	}
}
