package lab

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// Evidence is what was measured in a cell: who believed in the lock when, and what happened
// meanwhile. All times are since the cell began.
type Evidence struct {
	Lanes    []string  `json:"lanes"`  // clients, masters, the resource
	Struck   string    `json:"struck"` // the master that the fault strikes
	Holds    []Span    `json:"holds"`
	Overlaps []Span    `json:"overlaps,omitempty"` // of two clients' holds
	Doubles  int       `json:"doubles,omitempty"`  // how many overlaps there were
	Moments  []Moment  `json:"moments"`
	Asks     []Ask     `json:"asks"`
	Writes   int       `json:"writes,omitempty"` // to the resource
	Lost     int       `json:"lost,omitempty"`   // of these: they landed on one that their writer had not seen
	Stale    int       `json:"stale,omitempty"`  // requests that the resource refused for their fence
	Sold     *Stock    `json:"sold,omitempty"`
	Left     *Leftover `json:"left,omitempty"` // what nobody holds and nobody gets
	End      Millis    `json:"end_ms"`

	values []int // of the resource, one after another
}

// most is how many holds, and overlaps of holds, are kept of a cell.
const most = 200

// lately begins the text of a command that was kept back.
const lately = "late, "

// Millis is a time in milliseconds.
type Millis float64

func millis(d time.Duration) Millis { return Millis(float64(d.Microseconds()) / 1000) }

// Span is a time in somebody's lane.
type Span struct {
	Lane string `json:"lane"`
	From Millis `json:"from_ms"`
	To   Millis `json:"to_ms"`
	Note string `json:"note,omitempty"`
}

// Moment is something that happened in a lane.
type Moment struct {
	Lane  string `json:"lane"`
	At    Millis `json:"at_ms"`
	Kind  Kind   `json:"kind"`
	Text  string `json:"text"`
	order int
}

// Kind is what a moment is about.
type Kind string

// The kinds of moments: a fault, a command that reaches a master, what a client does, and
// what the resource is written.
const (
	Struck  Kind = "fault"
	Command Kind = "command"
	Deed    Kind = "deed"
	Written Kind = "write"
)

// Ask is how it went when somebody wanted the lock.
type Ask struct {
	Lane string `json:"lane"`
	From Millis `json:"from_ms"`
	To   Millis `json:"to_ms"`
	Got  bool   `json:"got"`
	Why  why    `json:"why,omitempty"`
	Err  string `json:"err,omitempty"`

	limit Millis // how soon it should have had the lock once nobody else had it
	late  bool   // it had not
}

// wait returns how long it took, since nobody else had the lock.
func (a Ask) wait(holds []Span) Millis {
	free := a.From
	for _, h := range holds {
		if h.To <= a.To {
			free = max(free, h.To)
		}
	}
	return a.To - free
}

// Leftover is a key that is in the way when nobody holds the lock.
type Leftover struct {
	Master string `json:"master"`
	Ends   Millis `json:"ends_in_ms"` // negative: never
}

// Stock is how a sale went.
type Stock struct {
	Pieces  int `json:"pieces"`
	Workers int `json:"workers"`
	Left    int `json:"left"`
}

// hold is what a client believes.
type hold struct {
	lane        string
	from, until clock.Instant
}

// record collects the evidence. It is safe for concurrent use: proxies write to it, too.
type record struct {
	mu    sync.Mutex // guards what follows
	began clock.Instant
	holds []*hold
	ev    Evidence
	ended bool
	last  map[string]*repeated // by client and master
}

// repeated is a command that a client sends to a master again and again.
type repeated struct {
	kept    Millis  // when one was last written down
	pending *Moment // the last one, if it was not
}

func newRecord() *record {
	return &record{began: clock.System.Now(), last: map[string]*repeated{}}
}

func (r *record) since(at clock.Instant) Millis { return millis(at.Sub(r.began)) }

func (r *record) lane(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ev.Lanes = append(r.ev.Lanes, name)
}

func (r *record) note(lane string, kind Kind, at clock.Instant, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.ev.Moments = append(r.ev.Moments, Moment{lane, r.since(at), kind, text, len(r.ev.Moments)})
	}
}

// command notes a command that reaches a master. Of those of a client that tries again and
// again four in a second are kept, and the last one.
func (r *record) command(client, master string, words []string, late, again bool) {
	const often = 250 // ms
	at, text := clock.System.Now(), "from "+client+": "+said(words)
	if late {
		text, again = lately+text, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := client + " " + master + " " + words[0]
	l := r.last[key]
	if l == nil {
		l = &repeated{kept: -often}
		r.last[key] = l
	}
	m := Moment{master, r.since(at), Command, text, len(r.ev.Moments)}
	if r.ended {
		return
	}
	if again && m.At-l.kept < often {
		l.pending = &m
		return
	}
	l.kept, l.pending = m.At, nil
	r.ev.Moments = append(r.ev.Moments, m)
}

// flush keeps the last of a client's commands.
func (r *record) flush(client string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, l := range r.last {
		if l.pending != nil && strings.HasPrefix(key, client+" ") {
			r.ev.Moments = append(r.ev.Moments, *l.pending)
			l.pending = nil
		}
	}
}

func (r *record) held(lane string, from, until clock.Instant) *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &hold{lane, from, until}
	r.holds = append(r.holds, h)
	return h
}

// evidence ends the record, and returns what is in it.
func (r *record) evidence() Evidence {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := clock.System.Now()
	r.ended = true
	r.ev.End = r.since(end)
	for _, h := range r.holds {
		h.until = min(h.until, end)
		r.ev.Holds = append(r.ev.Holds, Span{h.lane, r.since(h.from), r.since(h.until), ""})
	}
	r.ev.Overlaps = overlaps(r.ev.Holds)
	r.ev.Doubles = len(r.ev.Overlaps)
	r.ev.Holds = r.ev.Holds[:min(most, len(r.ev.Holds))]
	r.ev.Overlaps = r.ev.Overlaps[:min(most, len(r.ev.Overlaps))]
	slices.SortStableFunc(r.ev.Moments, func(a, b Moment) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.order, b.order))
	})
	return r.ev
}

// overlaps returns when two clients believed at once.
func overlaps(holds []Span) []Span {
	var all []Span
	sorted := slices.SortedFunc(slices.Values(holds), func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			if from, to := max(a.From, b.From), min(a.To, b.To); from < to {
				all = append(all, Span{a.Lane + " and " + b.Lane, from, to, ""})
			}
			if b.From >= a.To {
				break
			}
		}
	}
	return all
}

func (r *record) believe(h *hold, until clock.Instant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.until = until
}

// strike notes a fault of now.
func (r *record) strike(lane, what string) { r.note(lane, Struck, clock.System.Now(), what) }

func (r *record) sold(s Stock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ev.Sold = &s
}

func (r *record) ask(a Ask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ev.Asks = append(r.ev.Asks, a)
}
