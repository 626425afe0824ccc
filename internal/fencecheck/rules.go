package fencecheck

import (
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Fence is what quorum.Fence decides.
type Fence interface {
	No() uint64
	Has(voter int) bool
	Asks(voter int) bool
}

// Rules are what production does. A mutant has one of them wrong.
type Rules struct {
	Choose  func(given []uint64) Fence
	Give    func(floor, counter, hint uint64) uint64               // a master's number for a lock
	CountUp func(counter, fence uint64, holds bool) (uint64, bool) // what a master that is asked does
	Arm     func(high uint64) (floor uint64)                       // of a master that is given tenure

	Covers func(no, floor uint64) bool // whether a number is of the tenure that came after it

	Done         func(f Fence, has func(voter int) bool) bool // whether the fence is good
	LateGrants   bool                                         // one that comes after the choice has a part in it
	ReadTooSoon  bool                                         // the others are read before the wait is over
	ReadOne      bool                                         // one other is read, not a majority
	NeedNoTenure bool                                         // masters that forgot have a vote
}

// Production returns the rules as they are.
func Production() Rules {
	return Rules{
		Choose:  func(given []uint64) Fence { return quorum.NewFence(given) },
		Give:    Give,
		CountUp: CountUp,
		Arm:     Arm,
		Covers: func(no, floor uint64) bool {
			return (&guard.Tail{Record: &tenure.Record{Floor: floor}}).Covers(no)
		},
		Done: func(_ Fence, has func(voter int) bool) bool {
			n := 0
			for voter := range masters {
				if has(voter) {
					n++
				}
			}
			return n >= quorum.Majority(masters)
		},
	}
}

// Give is fence.lua: the number that a master gives with a grant, and counts up to.
func Give(floor, counter, hint uint64) uint64 { return max(max(floor, counter)+1, hint) }

// CountUp is count.lua: it reports whether the master counted up to fence.
func CountUp(counter, fence uint64, holds bool) (uint64, bool) {
	if !holds {
		return counter, false
	}
	return max(counter, fence), true
}

// Arm returns where a master begins to count that is given tenure, when the greatest that
// the others know is high. (Production adds a gap. It is not needed.)
func Arm(high uint64) uint64 {
	prepared := tenure.Preparation{Process: "p", Nonce: "n"}
	r, ok := tenure.Arm{Prepared: prepared, High: high}.Apply(tenure.Record{Prepared: prepared}, "p", 0)
	if !ok {
		panic("fencecheck: a master that is prepared is not armed")
	}
	return r.Floor
}
