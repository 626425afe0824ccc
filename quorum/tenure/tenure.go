// Package tenure decides which masters may vote: only one that provably remembers
// every vote it gave in the last MaxTTL.
//
// A master keeps a [Record] of itself. The record has tenure if it was written for
// the process that it is read from, and for that process' history (run id and
// replication id). A restart, a failover, a flush or a restored backup breaks that
// bond. To get tenure back:
//
//  1. [Prepare] takes away what is left of its tenure, and leaves a nonce that dies
//     with the process and with the data.
//  2. [Raise] raises the term of its seat on a majority of masters, which are others
//     and have tenure. From then on no round with the seat's former master is won.
//  3. [Await] tells those masters that the raise is complete. Each notes its own TIME.
//  4. When a majority says, each by its own clock, that this was longer ago than any
//     lease can last, everything that the seat ever granted is over.
//  5. [Arm] spends the nonce. The master gets the new term, and what the others know
//     of the terms of all seats and of the fence.
//
// Nobody has to remember anything on the way: what to do next is a function of what
// the masters say now ([List.Next]). So any number of clients may do it at once, may
// stop anywhere, and may each live for a second.
//
// Where no majority has tenure, there is no one to ask. If all the masters answer and
// agree on who they are, they found a new group: all are prepared, then each is pledged
// to the group whose name is a digest of all their nonces ([Pledge]), then the same
// wait, then [Arm]. With an operator's word, instead of the agreement and the wait, that
// is how the first group begins.
//
// All of it is plain values: no goroutine, no clock is read, no master is known.
//
// Not promised: safety from a majority of masters that fail over at once while their
// old processes still serve someone, from a majority of clocks that step at once, and
// from memory that is rolled back together with its process (a VM snapshot).
package tenure

import (
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/quorum"
)

// Time is a reading of a master's own clock (TIME), in microseconds. Readings of two
// masters can't be compared.
type Time int64

// Charter is what all masters of a group have in common, and all their clients.
type Charter struct {
	Group     string
	N         int // seats
	MaxTTL    time.Duration
	Tolerance time.Duration
}

// Wait is how long nothing that was granted before can last, by any master's clock:
// one that runs a tenth too fast, or was stepped by less than anybody can see, included.
// It is also more than twice the [Charter.Window].
func (c Charter) Wait() time.Duration { return c.MaxTTL + c.MaxTTL/10 + 2*c.Tolerance }

// Window is how old a reply may be, counted from when it was asked for, to be acted on.
// A master that forgets after its reply has no tenure again before the window is over.
func (c Charter) Window() time.Duration { return c.MaxTTL / 2 }

// Preparation is a nonce and the process it was left in: run id and replication id.
// The nonce dies with the data. Bound to the process, it isn't taken for its own by a
// replica that copied it.
type Preparation struct{ Process, Nonce string }

// Term is what a master knows of one seat.
type Term struct {
	No      uint64      // raised each time that the seat's memory may be gone
	Address string      // where the seat's master is reached
	Waiter  Preparation // who had it raised here; none where it was learned from others
	Since   Time        // when this master was told that a majority has it; 0: not yet
}

// Record is what a master stores of itself. The zero Record is an empty master's.
type Record struct {
	Charter
	Seat     int           // 1 to N
	Identity string        // process that it has tenure in; "" while it is prepared
	Prepared Preparation   // none while it has tenure
	Pledge   string        // the group to be founded that the preparation is spent on
	Since    Time          // when it was pledged
	Skew     time.Duration // its TIME, less the others', when it was armed
	High     uint64        // highest fence
	Floor    uint64        // where its fences began when it was armed
	Terms    []Term        // by seat, from 0. Its own term is here too
}

// Term returns the term of the master's own seat.
func (r Record) Term() uint64 { return r.Terms[r.Seat-1].No }

// Tenured reports whether the record has tenure in process.
func (r Record) Tenured(process string) bool { return r.Identity != "" && r.Identity == process }

// prepared reports whether the record holds a preparation that was left in process.
func (r Record) prepared(process string) bool {
	return r.Prepared.Nonce != "" && r.Prepared.Process == process
}

// whole reports whether the record's parts are there and fit together.
func (r Record) whole() bool {
	return r.Group != "" && len(r.Terms) == r.N && 1 <= r.Seat && r.Seat <= r.N
}

// Reply is what a master said at the end of a batch: its TIME, its record, and who it is.
type Reply struct {
	Heard   bool // the rest is there
	Process string
	Time    Time
	Record  Record
	Skew    time.Duration // its TIME, less the others', as the clock guard sees it
	Accused bool          // its clock provably stepped: its keys may be gone
	Dialled bool          // the connection was made for this question
}

func (r Reply) tenured() bool {
	return r.Heard && !r.Accused && r.Record.whole() && r.Record.Tenured(r.Process)
}

// left returns how much of the wait that began at since is left.
func (r Reply) left(since Time) time.Duration {
	return r.Record.Wait() - time.Duration(r.Time-since)*time.Microsecond
}

// ahead reports whether since lies in the future: the clock was set back.
func (r Reply) ahead(since Time) bool { return since > r.Time }

// List is the masters as one client knows them. A master's place in it is its slot.
// What a client's list calls slot 0 may have seat 3 of the group.
type List struct {
	Addresses         []string
	MaxTTL, Tolerance time.Duration
	// Move, an operator's word, gives the seat at From to the master at To, which is
	// one of Addresses.
	Move Move
}

// Move is a seat's change of address.
type Move struct{ From, To string }

func (l List) majority() int { return quorum.Majority(len(l.Addresses)) }

func (l List) charter(group string) Charter {
	return Charter{Group: group, N: len(l.Addresses), MaxTTL: l.MaxTTL, Tolerance: l.Tolerance}
}

// Fits reports whether a record is of a group of masters like those of the list.
func (l List) Fits(r Record) bool { return r.whole() && r.Charter == l.charter(r.Group) }

// Count returns how many votes of one round count, grants and extensions alike: the
// question is won with a majority of the list. Replies are by slot, each from the end
// of the batch that the vote was in.
//
// A vote counts if its master has tenure, by the client's charter, in a group that all
// counted votes share, and no reply of the round shows a greater term for its seat.
func (l List) Count(replies []Reply, granted func(slot int) bool) int {
	return len(l.members(replies, granted))
}

// members returns the slots that count together, of those that ok admits: those of the
// group that has most of them. No two have one seat.
func (l List) members(view []Reply, ok func(slot int) bool) []int {
	var best []int
	for i := range view {
		if m := l.membersWith(i, view, ok); len(m) > len(best) {
			best = m
		}
	}
	return best
}

// membersWith returns the members of slot first's group, if first is the first of them.
func (l List) membersWith(first int, view []Reply, ok func(slot int) bool) []int {
	var members []int
	for i := first; i < len(view); i++ {
		r := view[i].Record
		if !ok(i) || !l.stands(i, view) || r.Group != view[first].Record.Group {
			continue
		}
		if !slices.ContainsFunc(members, func(j int) bool { return view[j].Record.Seat == r.Seat }) {
			members = append(members, i)
		}
	}
	return members
}

// stands reports whether slot i has tenure and no reply in view knows a later term of
// its seat. Only masters with tenure are believed: what others know may have been
// forgotten by everyone else, because it never came to anything.
func (l List) stands(i int, view []Reply) bool {
	r := view[i].Record
	if !view[i].tenured() || r.Charter != l.charter(r.Group) {
		return false
	}
	for _, o := range view {
		if o.tenured() && o.Record.Group == r.Group && o.Record.N == r.N && o.Record.Terms[r.Seat-1].No > r.Term() {
			return false
		}
	}
	return true
}

func anyone(int) bool { return true }
