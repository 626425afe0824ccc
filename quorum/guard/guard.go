// Package guard decides whose votes count: those of masters that remember all they granted
// (see package tenure), and whose clocks ran evenly meanwhile.
//
//  1. A master ends each batch of votes with a [Tail]: who it is, its record of tenure, and
//     its TIME.
//  2. A [Watch] holds the TIME against all that the client saw of that clock before.
//  3. A vote can't count where the tail alone rules it out ([Guard.Admit]).
//  4. The votes of a round count together, by all its tails ([Guard.Count]).
//  5. What is wrong is mended by the protocol of tenure, which is told whose clock was
//     stepped ([Tend]).
//
// All of it is plain values: no goroutine, no clock is read, no master is known.
package guard

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// ErrUnsafe is why a server can't vote, whatever happens: it can't be an independent master
// with a memory of its own, or is not one of this client's.
var ErrUnsafe = errors.New("unsafe configuration")

// Why a vote does not count.
var (
	ErrNoTenure = errors.New("it may have forgotten what it granted") // time, or an operator, mends that

	errBlurred = fmt.Errorf("its answer took longer than %v: whether its clock runs evenly can't be told", clock.Tolerance)
	errStrange = errors.New("too few other masters answer to tell whether its clock is right")
	errAstray  = errors.New("its clock is not that of most others")
	errOutrank = errors.New("others know that it may have forgotten what it granted")
	errApart   = fmt.Errorf("%w: it belongs to another group than the others: is it in the right list? If it replaces a master, say so (redlock replace)", ErrUnsafe)
)

// Guard counts votes, for one list of masters. Tails are by slot of that list; those of
// masters that were not heard are nil. Its methods are safe for concurrent use.
type Guard struct {
	list tenure.List
	calm atomic.Pointer[calm]
}

// New returns the guard of a list of masters.
func New(l tenure.List) *Guard { return &Guard{list: l} }

// List returns the masters.
func (g *Guard) List() tenure.List { return g.list }

// Admit returns why the vote of the master that said t can't count, whatever the others
// say; nil if it may.
func (g *Guard) Admit(slot int, t *Tail) error {
	known := g.calm.Load()
	switch {
	case !t.Record.Tenured(t.Process):
		return ErrNoTenure
	case !known.has(slot, t) && !g.list.Fits(*t.Record):
		return g.foreign(*t.Record)
	case t.Sight == quorum.Stepped:
		return fmt.Errorf("its clock was stepped by %v: keys may have ended too soon", t.Step.Round(time.Millisecond))
	case t.Sight == quorum.Blurred:
		return errBlurred
	}
	return nil
}

// foreign says what is different between a record and this client.
func (g *Guard) foreign(r tenure.Record) error {
	switch {
	case r.N != len(g.list.Addresses):
		return fmt.Errorf("%w: it is one of %d masters, and this client has a list of %d: give all clients the same list", ErrUnsafe, r.N, len(g.list.Addresses))
	case r.MaxTTL != g.list.MaxTTL:
		return fmt.Errorf("%w: its MaxTTL is %v, and this client's is %v: give all clients the same, or initialise the masters anew", ErrUnsafe, r.MaxTTL, g.list.MaxTTL)
	default:
		return fmt.Errorf("%w: its tolerance is %v, and this client's is %v: give all clients the same version", ErrUnsafe, r.Tolerance, g.list.Tolerance)
	}
}

// Count returns how many of the votes count that were granted, and were admitted. all says
// that there is nothing wrong with any of them: else somebody should look after the masters.
func (g *Guard) Count(tails []*Tail, granted func(slot int) bool) (n int, all bool) {
	counts := func(i int) bool {
		return granted(i) && (tails[i].Sight == quorum.Steady || agrees(tails, i))
	}
	if known := g.calm.Load(); known.hasAll(tails) {
		for i := range tails {
			if counts(i) {
				n++
			}
		}
		return n, true
	}
	view := make([]tenure.Reply, len(tails))
	grants := 0
	for i, t := range tails {
		if t != nil {
			view[i] = t.Reply()
		}
		if granted(i) {
			grants++
		}
	}
	g.learnCalm(tails, view)
	n = g.list.Count(view, counts)
	return n, n == grants
}

// calm is records that stand together, as they nearly always do: whatever part of them a
// round meets, all its votes count. They are found out once, and known by their pointers.
type calm struct{ records []*tenure.Record }

// has reports whether a master said the same again, and still has tenure.
func (c *calm) has(slot int, t *Tail) bool {
	return c != nil && c.records[slot] == t.Record && t.Record.Tenured(t.Process)
}

func (c *calm) hasAll(tails []*Tail) bool {
	for i, t := range tails {
		if t != nil && !c.has(i, t) {
			return false
		}
	}
	return true
}

// learnCalm remembers what stands together, of what was said now, and of what is known.
func (g *Guard) learnCalm(tails []*Tail, view []tenure.Reply) {
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
func agrees(tails []*Tail, i int) bool {
	own, near := tails[i].Offset.Less(tails[i].Record.Skew), 0
	for t := range clocks(tails) {
		if t.Offset.Less(t.Record.Skew).Near(own, clock.Tolerance) {
			near++
		}
	}
	return near >= quorum.Majority(len(tails))
}

// clocks yields the tails of different masters: one under two addresses has one clock.
func clocks(tails []*Tail) iter.Seq[*Tail] {
	return func(yield func(*Tail) bool) {
		for i, t := range tails {
			known := func(u *Tail) bool { return u != nil && u.Process == t.Process }
			if t != nil && !slices.ContainsFunc(tails[:i], known) && !yield(t) {
				return
			}
		}
	}
}

// Vouched reports whether a clock that was not watched before is right, by what the others
// say: it is to be trusted from now on ([Watch.Trust]).
func Vouched(tails []*Tail, slot int) bool {
	t := tails[slot]
	return t != nil && t.Sight == quorum.Strange && agrees(tails, slot)
}

// Objection returns why a vote that was granted did not count; nil if it did.
func (g *Guard) Objection(tails []*Tail, slot int) error {
	if err := g.Admit(slot, tails[slot]); err != nil {
		return err
	}
	if tails[slot].Sight == quorum.Strange && !agrees(tails, slot) {
		if heard(tails) < quorum.Majority(len(tails)) {
			return errStrange
		}
		return errAstray
	}
	if n, _ := g.Count(tails, func(voter int) bool { return voter == slot }); n == 0 {
		return outranked(tails, slot)
	}
	if tails[slot].Record.Group != commonest(tails) {
		return errApart
	}
	return nil
}

// commonest returns the group that most of the masters have tenure in.
func commonest(tails []*Tail) (group string) {
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

func heard(tails []*Tail) int {
	n := 0
	for _, t := range tails {
		if t != nil {
			n++
		}
	}
	return n
}

// outranked says who has a later term of a master's seat.
func outranked(tails []*Tail, slot int) error {
	r := tails[slot].Record
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
