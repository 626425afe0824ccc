package sim

import (
	"math/rand/v2"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Config is one run.
type Config struct {
	Seed       uint64
	OutOfModel bool
	Rules      Rules
	Tell       bool         // keep the story
	Without    map[int]bool // faults of the schedule that do not happen
}

// plan is what a seed has chosen.
type plan struct {
	masters, crowd int // how many
	minTTL, maxTTL time.Duration
	trip           time.Duration
	slow           int // percent of messages that are slow
	slowest        time.Duration
	loss           int   // percent of messages after which a connection is as cut
	straddle       int   // percent of batches whose tail comes later
	noKill         bool  // predecessors are not killed
	drift          int64 // of clocks, in parts per million
	wallClocks     time.Duration
	fencing        bool
	noHints        bool
	think          time.Duration
	calm           time.Duration // between faults
	faultsEnd      clock.Instant
}

// Result is what came of a run.
type Result struct {
	Seed       uint64
	Hash       uint64
	Virtual    time.Duration
	Acquired   int
	Violations []Violation
	Faults     [kinds]int
	Scheduled  int
	Counters   Counters
	Story      []string
}

// Counters say that what is to be tested happened.
type Counters struct {
	OneTrip, WriteBack, Uncovered, Straddled, Late, Killed, Extended, Restores, Changes, StoodStill, Stale, Cut int
}

func (r *Result) failed() bool { return len(r.Violations) > 0 }

func pick[T any](chance *rand.Rand, of ...T) T { return of[chance.IntN(len(of))] }

func newPlan(chance *rand.Rand, outOfModel bool) plan {
	p := plan{
		masters: pick(chance, 3, 3, 5), crowd: pick(chance, 2, 3),
		minTTL: 60 * time.Millisecond, maxTTL: 400 * time.Millisecond,
		trip: pick(chance, 200*time.Microsecond, 2*time.Millisecond, 10*time.Millisecond),
		slow: pick(chance, 0, 2, 10, 30), slowest: pick(chance, 20*time.Millisecond, 200*time.Millisecond, time.Second),
		loss: pick(chance, 0, 0, 1, 4), straddle: pick(chance, 0, 5, 30),
		noKill: chance.IntN(3) == 0, drift: pick[int64](chance, 0, 1000, 4000),
		wallClocks: pick(chance, 0, time.Second, time.Hour),
		fencing:    chance.IntN(4) > 0, noHints: chance.IntN(4) == 0,
		think: pick(chance, 10*time.Millisecond, 300*time.Millisecond, time.Second), calm: pick(chance, 50*time.Millisecond, 400*time.Millisecond),
		faultsEnd: clock.Instant(2500 * time.Millisecond),
	}
	if outOfModel {
		p.fencing, p.drift = true, pick[int64](chance, 4000, 50_000, 200_000)
	}
	return p
}

// Run runs one seed.
func Run(c Config) Result {
	w := &world{Config: c, chance: rand.New(rand.NewPCG(c.Seed, 1)), hash: 0xcbf29ce484222325}
	w.plan = newPlan(w.chance, c.OutOfModel)
	w.judge = judge{w: w, known: map[[2]uint64]bool{}, since: map[int]bool{}}
	w.result.Seed = c.Seed
	w.found()
	w.tell("%d masters, %d clients, fences: %v, trips of %v", w.masters, w.crowd, w.fencing, w.trip)
	for i := range w.crowd {
		w.clients = append(w.clients, w.newClient(i))
		first := &w.clients[i].worker
		w.after(w.upTo(w.think), func() { first.begin() })
	}
	w.remember()
	faults := w.schedule()
	w.result.Scheduled = len(faults)
	for i, f := range faults {
		if !c.Without[i] {
			w.at(f.at, func() { w.strike(f) })
		}
	}
	w.runUntil(w.faultsEnd)
	w.heal()
	w.finish()
	w.result.Virtual = time.Duration(w.now)
	w.result.Hash = w.hash
	return w.result
}

// list is the masters as all clients know them.
func (w *world) list() tenure.List {
	l := tenure.List{MaxTTL: w.maxTTL, Tolerance: clock.Tolerance}
	if w.Rules.ShortWait {
		l.MaxTTL /= 8
	}
	for _, h := range w.hosts {
		l.Addresses = append(l.Addresses, h.address)
	}
	return l
}

// found makes the masters, which are a group.
func (w *world) found() {
	for i := range w.masters {
		h := &host{no: i, address: "m" + string(rune('1'+i))}
		h.current = &server{w: w, home: h, process: w.process(), killed: map[[2]int]int{}}
		h.current.clock = wall{rate: w.chance.Int64N(2*w.drift+1) - w.drift, steps: time.Hour + w.upTo(time.Minute)}
		w.hosts = append(w.hosts, h)
	}
	list := w.list()
	for range 8 {
		var view []tenure.Reply
		for _, h := range w.hosts {
			s := h.current
			view = append(view, tenure.Reply{Heard: true, Process: s.process, Time: s.time(), Record: *s.now(), Dialled: true,
				Skew: time.Duration(s.time()-w.hosts[0].current.time()) * time.Microsecond})
		}
		sends, _ := list.Init(view, "founding")
		for _, send := range sends {
			s := w.hosts[send.Slot].current
			if after, ok := send.Do.Apply(*s.now(), s.process, s.time()); ok {
				s.record = &after
			}
		}
	}
}

// heal ends all faults but for what masters have to wait for.
func (w *world) heal() {
	w.healed = true
	w.loss, w.slow, w.straddle = 0, 0, 0
	for _, h := range w.hosts {
		h.cut, h.broken = false, false
		if h.alias != nil {
			w.lead(h, nil)
		}
		if h.current.stopped {
			h.current.goOn()
		}
	}
	for _, c := range w.clients {
		clear(c.cut)
		c.goOn()
	}
	w.tell("all is healed")
}

// finish waits until all is well, for as long as that may take, and ends the run.
func (w *world) finish() {
	limit := w.now.Add(2*tenure.Charter{MaxTTL: w.maxTTL, Tolerance: clock.Tolerance}.Wait() + 8*time.Second)
	for !w.result.failed() && !w.judge.quiet(false) {
		if w.now >= limit {
			if !w.OutOfModel { // there, clocks may be so wrong that no vote counts
				w.judge.quiet(true)
			}
			return
		}
		w.runUntil(w.now.Add(50 * time.Millisecond))
	}
	if w.OutOfModel {
		return
	}
	w.over = true
	w.runUntil(w.now.Add(4*w.maxTTL + 2*clock.Grace))
	if !w.result.failed() {
		w.judge.clean()
	}
}
