// Package lab breaks locks for people to see: each design that is in use, under each fault
// that is known to break one, on real masters, with client processes that are really killed
// and stopped.
//
// A cell is one design under one fault. It is staged by a script, which lets the fault strike
// where it hurts most, and judged by what was measured: who believed in the lock when, what
// the resource was left with, and whether the lock could be had afterwards. What comes out is
// compared with a table of what is known. A cell that differs is an error in any case: a lock
// that is known to be wrong and survives says that the fault was none.
package lab

import (
	"fmt"
	"strings"
)

// Verdict is what became of a lock under a fault.
type Verdict string

// The verdicts, the worst first. What comes after LostUpdate is safe.
const (
	TwoHolders  Verdict = "two holders"
	LostUpdate  Verdict = "lost update"
	Stuck       Verdict = "stuck"
	Blocked     Verdict = "blocked"
	Refused     Verdict = "refused"
	Unavailable Verdict = "unavailable"
	OK          Verdict = "ok"
	None        Verdict = "n/a"
)

// Saying is a verdict and what it says.
type Saying struct {
	Verdict Verdict
	Words   string
}

// Verdicts are all of them, with what they say.
func Verdicts() []Saying {
	return []Saying{
		{OK, "one holder at a time, and the next one got the lock in time"},
		{TwoHolders, "two believed at the same time that they had the lock"},
		{LostUpdate, "one holder at a time, but a write of an old one landed on that of a new one"},
		{Stuck, "nobody has the lock, and nobody ever gets it"},
		{Blocked, "nobody has the lock, and for some time nobody gets it"},
		{Refused, "the lock refuses to work on these masters, and says why: safe"},
		{Unavailable, "nobody gets the lock while the fault lasts: safe"},
		{None, "the fault has no meaning for the design"},
	}
}

// Safe reports whether nothing was broken.
func (v Verdict) Safe() bool {
	switch v {
	case TwoHolders, LostUpdate, Stuck:
		return false
	default:
		return true
	}
}

// ID names a cell: "fault/design".
type ID struct{ Fault, Design string }

func (id ID) String() string { return id.Fault + "/" + id.Design }

// ParseID reads what String writes.
func ParseID(text string) (ID, error) {
	f, d, ok := strings.Cut(text, "/")
	id := ID{f, d}
	if !ok {
		return id, fmt.Errorf("%q is no cell: give FAULT/LOCK", text)
	}
	if _, ok := FaultOf(f); !ok {
		return id, fmt.Errorf("there is no fault %q", f)
	}
	if _, ok := DesignOf(d); !ok {
		return id, fmt.Errorf("there is no lock %q", d)
	}
	return id, nil
}
