package lab

import (
	"cmp"
	"slices"

	"github.com/quorumlock/redlock-go/internal/locks"
)

// Design is a lock, and the masters that it is run on.
type Design struct {
	ID    string
	Title string
	Words string // how it works
	kind  string // of package locks
	// layout is what it runs on: one master, one with a replica that takes over, or five.
	layout layout
	ours   bool // the masters are made a group
	fenced bool // and the resource checks its fences
	// like names the design whose verdicts are expected, but for some faults; its own if "".
	like string
	but  map[string]Verdict
}

// Peer returns the design of a lock of another library, which was registered with
// [locks.Register]: on five masters if it is over a quorum, else on one.
func Peer(kind, words string, quorum bool, like string, but map[string]Verdict) Design {
	d := Design{ID: kind, Title: kind, Words: words, kind: kind, like: like, but: but}
	if quorum {
		d.layout = five
	}
	return d
}

// expected returns what is known of the design under a fault.
func (d Design) expected(fault string) Verdict {
	if v, ok := d.but[fault]; ok {
		return v
	}
	return expectations[ID{fault, cmp.Or(d.like, d.ID)}]
}

type layout int

const (
	alone layout = iota
	pair
	five
)

// Designs are the columns of the matrix, the naive ones first.
func Designs() []Design {
	return []Design{
		{ID: "none", Title: "no lock", kind: locks.None,
			Words: "Everybody just works."},
		{ID: "setnx", Title: "SETNX + DEL", kind: locks.SETNX,
			Words: "SETNX takes the lock, DEL frees it. It has no end."},
		{ID: "expire", Title: "SETNX, then EXPIRE", kind: locks.SETNXThen,
			Words: "SETNX takes the lock, EXPIRE gives it an end in a second command, DEL frees whatever is there."},
		{ID: "plaindel", Title: "SET NX PX + DEL", kind: locks.PlainDEL,
			Words: "One command takes the lock with an end. DEL frees whatever is there; a plain SET extends."},
		{ID: "token", Title: "token + script", kind: locks.Single,
			Words: "SET NX PX with a random token; scripts free and extend only one's own. The holder counts the time. One master."},
		{ID: "retry", Title: "lock, retryLock, unlock", kind: locks.Retry,
			Words: "Token and script as a class: a key prefix, a fixed pause between attempts, a time-out, and one token for the life of the object."},
		{ID: "reentrant", Title: "re-entrant + watchdog", kind: locks.Reentrant,
			Words: "A hash counts how often its owner has entered, a watchdog extends it each third of the ttl, a channel wakes who waits. The holder knows no deadline. One master."},
		{ID: "failover", Title: "token, with failover", kind: locks.Single, layout: pair,
			Words: "Token and script on a master with an asynchronous replica, which takes over when the master dies."},
		{ID: "textbook", Title: "textbook Redlock", kind: locks.Textbook, layout: five,
			Words: "Token and script on five masters, of which a majority must agree. Masters are believed, whatever they have forgotten."},
		{ID: "ours", Title: "redlock-go", kind: locks.Ours, layout: five, ours: true,
			Words: "Five masters, of which only those vote that provably remember, and whose clocks run evenly."},
		{ID: "fenced", Title: "redlock-go + fences", kind: locks.OursFenced, layout: five, ours: true, fenced: true,
			Words: "The same, with a growing number for each lease, which the resource checks."},
	}
}

// DesignOf returns the design with an id.
func DesignOf(id string) (Design, bool) {
	all := Designs()
	i := slices.IndexFunc(all, func(d Design) bool { return d.ID == id })
	if i < 0 {
		return Design{}, false
	}
	return all[i], true
}

// masters returns how many it votes on.
func (d Design) masters() int {
	if d.layout == five {
		return 5
	}
	return 1
}
