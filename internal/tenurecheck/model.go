package tenurecheck

import (
	"fmt"

	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Config is what one run explores.
type Config struct {
	Name      string
	Faults    Faults
	Most      int    // faults in one history
	Locks     int    // clients that lock, 0 to 2
	Extends   bool   // they extend, with repair
	Tails     bool   // SET and the tail of its batch are two steps
	Torn      bool   // masters are looked at one by one, while the world goes on
	Lates     int    // transitions that may be under way for as long as they like
	Terms     int    // terms beyond this are not explored
	Cached    bool   // a new connection may also lead to the old master of an address
	Moves     bool   // an operator moves seat 3 to a fourth address; some clients' lists are old
	Uninvited bool   // with Moves: no operator does; clients with another list are there all the same
	Ruins     int    // it begins with so many masters restarted, with all their data
	Split     bool   // seats may be failed over one after another without a majority in tenure (with Promote)
	Only      string // the one property to check: Excludes, Waits, OneSeat or Invites. All if empty
	Limit     int    // states
}

// model explores one configuration.
type model struct {
	Config
	groups *groups
	lists  [3]tenure.List
	visit  func(t *state)
	tell   bool // someone wants to know what a step is
	note   string
	rooms  [seats + 1][]tenure.Term
	view   []tenure.Reply
}

func newModel(c Config) *model {
	m := &model{Config: c, groups: newGroups(), view: make([]tenure.Reply, seats)}
	for i := range m.rooms {
		m.rooms[i] = make([]tenure.Term, seats)
	}
	list := func(addresses []string) tenure.List {
		return tenure.List{Addresses: addresses, MaxTTL: maxTTL, Tolerance: tolerance}
	}
	m.lists = [3]tenure.List{list(listAddrs[0]), list(listAddrs[1]), list(listAddrs[1])}
	m.lists[2].Move = tenure.Move{From: "host3", To: "host4"}
	return m
}

// start is a group of three masters that have just been armed.
func (m *model) start() state {
	var s state
	for i := range seats {
		p := &s.procs[i]
		*p = process{alive: 1, now: 1, id: uint8(i + 1), addr: uint8(i + 1)}
		p.record = record{group: first, seat: uint8(i + 1), id: p.id}
		for j := range seats {
			p.record.terms[j] = term{no: 1, addr: uint8(j + 1)}
		}
	}
	if m.Moves {
		s.procs[seats] = process{alive: 1, now: 1, id: seats + 1, addr: addresses}
	}
	for i := range m.Ruins {
		s.procs[seats-1-i].id += addresses // not the identity that has tenure
	}
	m.canon(&s)
	return s
}

func (m *model) say(format string, args ...any) {
	if m.tell {
		m.note = fmt.Sprintf(format, args...)
	}
}

// next visits every state that one step leads to.
func (m *model) next(s *state, visit func(t *state)) {
	m.visit = visit
	for i := range m.Locks {
		m.lockSteps(s, i)
	}
	if m.Torn {
		m.lookSteps(s)
		m.decideSteps(s)
	} else {
		m.wholeLooks(s)
	}
	for i := range s.lates {
		if s.lates[i].kind != 0 {
			m.arrivals(s, i)
		}
	}
	m.faultSteps(s)
}

// reached calls f with every process that a client may reach at an address: the one that
// is there, and those that were, over connections that are still open.
func (s *state) reached(addr uint8, f func(p int)) {
	for i := range s.procs {
		if p := &s.procs[i]; p.alive != 0 && p.addr == addr {
			f(i)
		}
	}
}

func (m *model) list(lock int) int {
	if m.Moves && lock == 1 {
		return 1
	}
	return 0
}

// arming returns how many lists there are that clients arm with.
func (m *model) arming() int {
	switch {
	case !m.Moves:
		return 1
	case m.Uninvited:
		return 2
	default:
		return len(m.lists)
	}
}

func (m *model) addr(list, slot int) uint8 { return addrNumber[m.lists[list].Addresses[slot]] }

func (m *model) name(s *state, p int) string {
	if !m.tell {
		return ""
	}
	proc := &s.procs[p]
	kind := ""
	if proc.now == 0 {
		kind = ", the old one"
	}
	return fmt.Sprintf("%s (process %s%s)", addrNames[proc.addr], letters[proc.id], kind)
}

func (m *model) describe(do tenure.Transition) string {
	if !m.tell {
		return ""
	}
	switch d := do.(type) {
	case tenure.Prepare:
		return fmt.Sprintf("Prepare, nonce %s", d.Nonce)
	case tenure.Raise:
		return fmt.Sprintf("Raise of seat %d to term %d at %s for %s", d.Seat, d.Term, d.Address, d.Waiter)
	case tenure.Await:
		return fmt.Sprintf("Await of seat %d, term %d, for %s", d.Seat, d.Term, d.Waiter)
	case tenure.Pledge:
		return fmt.Sprintf("Pledge of %s to group %.4s", d.Prepared, d.Group)
	case tenure.Arm:
		nos := make([]uint64, len(d.Terms))
		for i, t := range d.Terms {
			nos[i] = t.No
		}
		return fmt.Sprintf("Arm of %s for seat %d in group %.5s, terms %d", d.Prepared, d.Seat, d.Charter.Group, nos)
	}
	return ""
}
