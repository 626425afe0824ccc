package lab

import (
	"slices"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

// Fault is what is done to a lock.
type Fault struct {
	ID    string
	Title string
	Words string // what happens, in plain words
	Short bool   // it is in the selection for who has two minutes
	// inside says that it can be staged with masters inside this process.
	inside  bool
	options func(*stage) []redistest.Option // of the masters
	deploy  func(*stage)                    // done before the masters are made a group
	run     func(*stage)
}

// Faults are the rows of the matrix.
func Faults() []Fault {
	return slices.Concat(clientFaults, masterFaults, networkFaults, clockFaults, setupFaults)
}

// FaultOf returns the fault with an id.
func FaultOf(id string) (Fault, bool) {
	all := Faults()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.ID == id })
	if i < 0 {
		return Fault{}, false
	}
	return all[i], true
}

// rivals are two clients of which each has a majority that meets the other's in the struck
// master alone.
func (s *stage) rivals() (a, b *client) {
	return s.client("A", s.masters, 1, 2, 3), s.client("B", s.masters, 3, 4, 5)
}

// together are two clients that reach all masters.
func (s *stage) together() (a, b *client) {
	return s.client("A", s.masters), s.client("B", s.masters)
}
