package tenure

import "time"

// gap is how far above everything known a master's fences begin when it is armed.
const gap = 1 << 10

// Send is one transition to be sent to the master at a slot. With no transition it asks
// for a new connection to the master, and to be told what is heard there.
type Send struct {
	Slot int
	Do   Transition
}

// State says why a master votes or not.
type State uint8

// From Preparing on they are steps on the way to tenure.
const (
	Unheard   State = iota // no reply that is new enough
	Votes                  // it has tenure
	Foreign                // it, or most of the others, have another MaxTTL, tolerance or number of masters
	Homeless               // no seat of the group has its address: an operator must say whose it gets
	Empty                  // too few have tenure, and not all know which group they were: an operator must say that no lock is out
	Alone                  // too few have tenure, and not all masters answer
	Preparing              // it is about to be prepared
	Raising                // its seat's term is being raised, or its pledge taken
	Waiting                // until what was granted before is over
	Arming                 // the wait is over
)

// Standing is where one master stands.
type Standing struct {
	State State
	Seat  int           // 0 if unknown
	Left  time.Duration // of the wait
}

// Next returns what to send, given what the masters said within the last Window, and
// where each stands. The nonce must be fresh and unguessable. Whatever is sent may be
// lost or come late. When all have tenure, nothing is sent.
func (l List) Next(view []Reply, nonce string) ([]Send, []Standing) {
	p := newPlan(l, view, nonce)
	switch {
	case p.fulfil():
	case len(p.members) >= l.majority():
		for slot := range view {
			p.rejoin(slot)
		}
	default:
		p.found(false)
	}
	return p.sends, p.standings
}

// Init returns what to send to found a group of all the masters, whatever they were
// before, in the order of the list. It is an operator's word that no lock is out, so it
// does not wait. When all have tenure, nothing is sent.
func (l List) Init(view []Reply, nonce string) ([]Send, []Standing) {
	p := newPlan(l, view, nonce)
	if !p.fulfil() && len(p.members) < len(view) {
		p.found(true)
	}
	return p.sends, p.standings
}

// plan is one look at the masters and what follows from it.
type plan struct {
	List
	view      []Reply
	nonce     string
	members   []int // slots that have tenure together
	sends     []Send
	standings []Standing
}

func newPlan(l List, view []Reply, nonce string) *plan {
	p := &plan{List: l, view: view, nonce: nonce, standings: make([]Standing, len(view))}
	p.members = l.members(view, anyone)
	for _, m := range p.members {
		p.standings[m] = Standing{State: Votes, Seat: view[m].Record.Seat}
	}
	return p
}

func (p *plan) send(slot int, t Transition) { p.sends = append(p.sends, Send{Slot: slot, Do: t}) }

// prepare prepares the master at a slot.
func (p *plan) prepare(slot int) {
	r := p.view[slot].Record
	p.send(slot, Prepare{Identity: r.Identity, Seen: r.Prepared, Nonce: p.nonce})
}

// dial asks for a new connection to the master at a slot if this one is not young, and
// reports whether it is. An old one may lead to a master whose place another has taken
// behind the address: to arm it would take the seat from the other, for nothing.
func (p *plan) dial(slot int) bool {
	if !p.view[slot].Dialled {
		p.send(slot, nil)
	}
	return p.view[slot].Dialled
}

// high returns where fences begin that are above all that the masters know.
func (p *plan) high() uint64 {
	var high uint64
	for _, r := range p.view {
		if r.Heard {
			high = max(high, r.Record.High)
		}
	}
	return high + gap
}

// wall returns the latest of the masters' wall clocks, in microseconds, for a group whose
// masters may all have forgotten what they knew of the fence. It leaves room for fences
// to grow, however wrong a clock is.
func (p *plan) wall() uint64 {
	var wall Time
	for _, r := range p.view {
		wall = max(wall, r.Time)
	}
	return min(uint64(wall), 1<<52)
}
