package tenure

import (
	"slices"
	"time"
)

// A Transition is what a master does to its record in one atomic step. It is told the
// process it runs in and the master's TIME. A transition whose condition does not hold
// changes nothing and reports false: the client looks again.
//
// A real master compares and swaps: it takes what these functions make of the record that
// the client saw, if that is still its record, and in the process that it was seen in.
type Transition interface {
	Apply(r Record, process string, now Time) (Record, bool)
}

// Prepare takes tenure away and leaves a fresh nonce, bound to the process. It does so
// only where everything is still as the client saw it: a Prepare that comes late must
// not undo what others have done since.
type Prepare struct {
	Identity string      // as seen
	Seen     Preparation // as seen
	Nonce    string
}

// Apply takes tenure away, where all is as seen.
func (p Prepare) Apply(r Record, process string, _ Time) (Record, bool) {
	if r.Identity != p.Identity || r.Prepared != p.Seen {
		return r, false
	}
	r.Identity = ""
	r.Prepared = Preparation{Process: process, Nonce: p.Nonce}
	r.Pledge, r.Since = "", 0
	return r, true
}

// Raise raises the term of another master's seat. Terms only grow, and a term that was
// learned from others is not anybody's: so a term has at most one waiter with a majority.
//
// It need not ask whether the master has tenure: only those that have are counted, and
// being armed overwrites what the others wrote down.
type Raise struct {
	Group   string
	Seat    int
	Term    uint64
	Address string
	Waiter  Preparation
}

// Apply raises the term, where it is lower.
func (a Raise) Apply(r Record, _ string, _ Time) (Record, bool) {
	if r.Group != a.Group || r.Seat == a.Seat || r.Terms[a.Seat-1].No >= a.Term {
		return r, false
	}
	r.Terms = slices.Clone(r.Terms)
	r.Terms[a.Seat-1] = Term{No: a.Term, Address: a.Address, Waiter: a.Waiter}
	return r, true
}

// Await begins the wait for a term that a majority has: the master notes its TIME, once.
// If its clock was set back since, it begins anew.
type Await struct {
	Group  string
	Seat   int
	Term   uint64
	Waiter Preparation
}

// Apply notes TIME, where the term is that waiter's and TIME is not noted.
func (a Await) Apply(r Record, _ string, now Time) (Record, bool) {
	if r.Group != a.Group {
		return r, false
	}
	t := r.Terms[a.Seat-1]
	if t.No != a.Term || t.Waiter != a.Waiter || t.Since != 0 && t.Since <= now {
		return r, false
	}
	t.Since = now
	r.Terms = slices.Clone(r.Terms)
	r.Terms[a.Seat-1] = t
	return r, true
}

// Pledge spends a preparation on a group that is to be founded, and on no other, and
// notes TIME. It comes after the tenure of all the masters was taken away.
type Pledge struct {
	Prepared Preparation
	Group    string
}

// Apply pledges the preparation, where it is this one and not pledged.
func (p Pledge) Apply(r Record, process string, now Time) (Record, bool) {
	if !r.prepared(process) || r.Prepared != p.Prepared {
		return r, false
	}
	if r.Pledge != "" && (r.Pledge != p.Group || r.Since <= now) {
		return r, false
	}
	r.Pledge, r.Since = p.Group, now
	return r, true
}

// Arm gives tenure, and spends the nonce.
type Arm struct {
	Prepared Preparation
	Pledge   string // the pledge that it fulfils; "" if it takes its seat in a living group
	Charter  Charter
	Seat     int
	Terms    []Term
	High     uint64 // above every fence that the others know
	Skew     time.Duration
}

// Apply gives tenure, where the preparation and its pledge are these.
func (a Arm) Apply(r Record, process string, _ Time) (Record, bool) {
	if !r.prepared(process) || r.Prepared != a.Prepared || r.Pledge != a.Pledge {
		return r, false
	}
	high := max(r.High, a.High)
	return Record{
		Charter:  a.Charter,
		Seat:     a.Seat,
		Identity: process,
		Skew:     a.Skew,
		High:     high,
		Floor:    high,
		Terms:    slices.Clone(a.Terms),
	}, true
}
