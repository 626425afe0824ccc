package tenurecheck

import (
	"hash/maphash"
	"strings"
	"time"
	"unsafe"

	"github.com/quorumlock/redlock-go/quorum/tenure"
)

const (
	seats     = 3
	majority  = seats/2 + 1
	processes = seats + 2 // two may take another's place
	addresses = seats + 1 // the last one is where a seat may be moved to
	locks     = 2         // clients that lock
	lates     = 2         // transitions under way
)

// A mask is a set of what was going on at some instant: rounds and looks. While one of
// them still is, less time than a lease can last has passed since that instant. So it
// stands for time. marked tells that there was such an instant at all.
type mask = uint8

const (
	marked mask = 0x80
	look   mask = 1 << (2 * locks)
)

func base(lock int) mask      { return 1 << lock }
func extension(lock int) mask { return 1 << (locks + lock) }

// state is everything. Only bytes, so that it is its own key.
type state struct {
	procs  [processes]process
	copied copied // what a replica or a disk has kept of one process
	locks  [locks]lock
	view   view
	lates  [lates]late
	faults uint8
}

// process is one process and one history: what an identity stands for.
type process struct {
	record record
	alive  uint8
	id     uint8 // run id and replication id
	addr   uint8 // where it is, or was, reached
	now    uint8 // it is what a new connection to the address leads to
	doubt  uint8 // its clock has stepped: keys are lost, and clients see that
	key    uint8 // lock that holds it, from 1; extended tells of which round
	lost   mask  // when it last forgot; 0: not since it was armed
}

const extended = 0x10

type record struct {
	group, pledge  group
	seat, id       uint8
	nonce, nonceID uint8
	since          mask
	terms          [seats]term
}

type term struct {
	no, addr         uint8
	waiter, waiterID uint8
	since            mask
}

type copied struct {
	of     uint8 // process, from 1
	record record
	key    uint8
}

type lock struct {
	phase uint8
	votes [seats]vote
}

const (
	idle = iota
	asking
	holding
	extending
)

// vote is a grant: the master's key is ours. Its tail, once read, is kept.
type vote struct {
	stage uint8 // 0 none, 1 granted, 2 tail read
	proc  uint8
	group group
	seat  uint8
	terms [seats]uint8
}

// view is what one client that arms has heard in its look at the masters.
type view struct {
	list    uint8
	replies [seats]reply
}

type reply struct {
	heard, id, doubt uint8
	old              uint8  // reached over a connection of before
	record           record // since is marked if old, marked|1 if not
}

// late is a transition that is under way, to whatever is reached at an address.
type late struct {
	kind, addr     uint8
	group, pledge  group
	seat, term, to uint8
	nonce, nonceID uint8 // Prepare: as seen
	id, fresh      uint8 // Prepare: identity as seen, the new nonce
	nos, addrs     [seats]uint8
}

var seed = maphash.MakeSeed()

// bytes returns a transition as a string that can be compared.
func bytes(l *late) string {
	return unsafe.String((*byte)(unsafe.Pointer(l)), unsafe.Sizeof(*l))
}

// key is a digest of the state. With 30 million states two share one with a chance of
// less than 1 in 20 000.
func (s *state) key() uint64 { return maphash.Bytes(seed, s.bytes()) }

func (s *state) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s))
}

// end clears what is over from every instant: so time passes.
func (s *state) end(over mask) {
	s.masks(func(m mask) mask { return m &^ over })
}

// masks rewrites every instant that is kept anywhere.
func (s *state) masks(f func(mask) mask) {
	s.copied.record.masks(f)
	for i := range s.procs {
		s.procs[i].record.masks(f)
		s.procs[i].lost = f(s.procs[i].lost)
	}
}

func (r *record) masks(f func(mask) mask) {
	r.since = f(r.since)
	for i := range r.terms {
		r.terms[i].since = f(r.terms[i].since)
	}
}

// going returns what is going on now.
func (m *model) going(s *state) mask {
	going := marked
	for i, l := range s.locks {
		if l.phase != idle {
			going |= base(i)
		}
		if l.phase == extending {
			going |= extension(i)
		}
	}
	if m.Torn && s.view.open() {
		going |= look
	}
	return going
}

func (v *view) open() bool {
	for i := range v.replies {
		if v.replies[i].heard != 0 {
			return true
		}
	}
	return false
}

func (p *process) tenured() bool { return p.record.id != 0 && p.record.id == p.id && p.doubt == 0 }

// What the pure code sees instead of bytes.

const (
	maxTTL    = 10 * time.Second
	tolerance = 100 * time.Millisecond
	nowTime   = tenure.Time(1 << 40)
	youngTime = nowTime - 1
	oldTime   = tenure.Time(1)
)

var (
	letters    = strings.Split(" a b c d e f g h i j k l m n o p q r s t u v w x y z", " ")
	addrNames  = [addresses + 1]string{"", "host1", "host2", "host3", "host4"}
	addrNumber = map[string]uint8{}
	number     = map[string]uint8{}
	listAddrs  = [2][]string{{"host1", "host2", "host3"}, {"host1", "host2", "host4"}}
)

func init() {
	for i, n := range letters {
		number[n] = uint8(i)
	}
	for i, n := range addrNames {
		addrNumber[n] = uint8(i)
	}
}

// group is the number of a group's name, in two bytes.
type group [2]uint8

func (g group) int() int { return int(g[0])<<8 | int(g[1]) }

// first is the group that all masters begin in.
var first = group{0, 1}

// groups gives numbers to the names of groups, and remembers which nonces each is a
// digest of.
type groups struct {
	names   []string
	numbers map[string]group
	nonces  []nonces
	digests map[nonces]group
}

func newGroups() *groups {
	return &groups{
		names:   []string{"", "first"},
		numbers: map[string]group{"": {}, "first": first},
		nonces:  make([]nonces, 2),
		digests: map[nonces]group{},
	}
}

func (g *groups) name(n group) string { return g.names[n.int()] }

// add gives a number to a group that is to be founded on a set of nonces.
func (g *groups) add(name string, of nonces) {
	if _, ok := g.numbers[name]; !ok {
		n := len(g.names)
		g.numbers[name] = group{uint8(n >> 8), uint8(n)}
		g.names = append(g.names, name)
		g.nonces = append(g.nonces, of)
	}
}

func preparation(nonce, id uint8) tenure.Preparation {
	if nonce == 0 {
		return tenure.Preparation{}
	}
	return tenure.Preparation{Process: letters[id], Nonce: letters[nonce]}
}

func instant(m mask) tenure.Time {
	switch m {
	case 0:
		return 0
	case marked:
		return oldTime
	default:
		return youngTime
	}
}

// decode fills in the record that the bytes stand for. Terms are put into room.
func (g *groups) decode(r *record, room []tenure.Term) tenure.Record {
	d := tenure.Record{
		Identity: letters[r.id],
		Prepared: preparation(r.nonce, r.nonceID),
		Pledge:   g.name(r.pledge),
		Since:    instant(r.since),
	}
	if r.group == (group{}) {
		return d
	}
	for i, t := range r.terms {
		room[i] = tenure.Term{
			No:      uint64(t.no),
			Address: addrNames[t.addr],
			Waiter:  preparation(t.waiter, t.waiterID),
			Since:   instant(t.since),
		}
	}
	d.Charter = tenure.Charter{Group: g.name(r.group), N: seats, MaxTTL: maxTTL, Tolerance: tolerance}
	d.Seat = int(r.seat)
	d.Terms = room
	return d
}

// encode is the way back, after a transition of the record was.
func (g *groups) encode(d tenure.Record, was *record, now mask) record {
	back := func(t tenure.Time, was mask) mask {
		switch t {
		case 0:
			return 0
		case nowTime:
			return now
		default:
			return was
		}
	}
	r := record{
		group:   g.numbers[d.Group],
		seat:    uint8(d.Seat),
		id:      number[d.Identity],
		nonce:   number[d.Prepared.Nonce],
		nonceID: number[d.Prepared.Process],
		pledge:  g.numbers[d.Pledge],
		since:   back(d.Since, was.since),
	}
	for i, t := range d.Terms {
		r.terms[i] = term{
			no:       uint8(t.No),
			addr:     addrNumber[t.Address],
			waiter:   number[t.Waiter.Nonce],
			waiterID: number[t.Waiter.Process],
			since:    back(t.Since, was.terms[i].since),
		}
	}
	return r
}

// seen is the record as a reply shows it: of an instant only whether it is old.
func seen(r record) record {
	r.masks(func(m mask) mask {
		if m == 0 || m == marked {
			return m
		}
		return marked | 1
	})
	return r
}
