package quorum

// Fence is a number for a lock that was won, greater than that of every lock of the same
// name before it. Every master keeps a counter, and gave the next number of it with its
// grant; the fence is the greatest of these. It is good once a majority of the masters has
// counted up to it:
//
//  1. Where a majority gave that very number, it is good at once.
//  2. Else those that gave less are asked to count up to it, as long as they still hold
//     the token. Each that does so votes for it.
//
// Any two majorities share a master, at which the two locks held the key one after the
// other. It had counted up to the first fence when it gave a number for the second lock. So
// the second fence is greater, whatever the clocks do, and whenever keys end.
//
// A grant that comes after the fence was chosen has no part in it: that master may have
// given more.
//
// That is ABD's timestamp of a register with many writers (Lynch and Shvartsman 1997), with the
// lock in the place of the second phase wherever all agree.
type Fence struct {
	given []uint64 // by voter; 0 where it granted nothing, or too late
	no    uint64
}

// MaxFence is the greatest number that every language reads exactly from a Redis script:
// they are doubles there.
const MaxFence = 1<<53 - 1

// NewFence chooses the fence of a lock that was won, by the numbers that the masters gave
// with their grants, by voter; 0 stands for no grant.
func NewFence(given []uint64) Fence {
	f := Fence{given: given}
	for _, no := range given {
		f.no = max(f.no, no)
	}
	return f
}

// No returns the number.
func (f Fence) No() uint64 { return f.no }

// Has reports whether a voter has counted up to the fence already.
func (f Fence) Has(voter int) bool { return f.no > 0 && f.given[voter] == f.no }

// Asks reports whether a voter is to be asked to count up to the fence.
func (f Fence) Asks(voter int) bool { return f.given[voter] > 0 && f.given[voter] < f.no }
