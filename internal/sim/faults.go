package sim

import (
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

// fault is one thing that happens to a master or a client.
type fault struct {
	kind  kind
	at    clock.Instant
	who   int
	span  time.Duration
	extra uint64 // chance of its own
}

// kind is what happens.
type kind uint8

const (
	restartEmpty kind = iota
	restartOld        // with what it had some time ago
	restartWhole
	flush
	stop
	stepAhead
	stepBack
	failover // to what it had some time ago, while the old one goes on for those connected
	demote   // under a replica that lags, and back: the process stays
	cutOff
	cutFromOne
	alias // its address leads to another master
	pauseClient
	crashClient
	standStill // of a client's clock, with the client: out of model
	stepTwice  // ahead and back: out of model
	kinds
)

var kindNames = [kinds]string{
	"restarts empty", "restarts with an old file", "restarts with its memory", "is flushed", "stands still",
	"steps its clock ahead", "steps its clock back", "is failed over to a replica that lags", "is demoted and promoted",
	"is cut off", "is cut off from one client", "has its address lead to another", "is paused", "crashes", "stands still with its clock", "steps its clock ahead and back",
}

func (k kind) ofClient() bool { return k == pauseClient || k == crashClient || k == standStill }

// schedule draws the faults of a run.
func (w *world) schedule() (all []fault) {
	var on []kind
	for k := range kinds {
		if (k < standStill || w.OutOfModel) && w.chance.IntN(3) > 0 {
			on = append(on, k)
		}
	}
	if len(on) == 0 {
		return nil
	}
	if w.chance.IntN(3) == 0 { // some seeds are about two kinds of faults
		w.chance.Shuffle(len(on), func(i, j int) { on[i], on[j] = on[j], on[i] })
		on = on[:min(2, len(on))]
	}
	for t := clock.Instant(50 * time.Millisecond); t < w.faultsEnd; t = t.Add(w.upTo(2 * w.calm)) {
		f := fault{kind: on[w.chance.IntN(len(on))], at: t, who: w.chance.IntN(64), span: w.upTo(3 * w.maxTTL), extra: w.chance.Uint64()}
		all = append(all, f)
	}
	return all
}

// strike lets a fault happen, if the model allows for it now.
func (w *world) strike(f fault) {
	if f.kind.ofClient() {
		w.strikeClient(f)
		return
	}
	h := w.hosts[f.who%len(w.hosts)]
	unfit := 1
	for _, o := range w.hosts {
		if o != h && o.unfit() {
			unfit++
		}
	}
	if h.broken || unfit > len(w.hosts)-quorum.Majority(len(w.hosts)) {
		return
	}
	w.result.Faults[f.kind]++
	w.tell("master %d %s", h.no+1, kindNames[f.kind])
	w.note('f', int(f.kind), h.no, f.extra)
	s := h.current
	switch f.kind {
	case restartEmpty:
		w.replace(h, data{}, false)
	case restartOld:
		w.replace(h, s.old(f.extra), false)
	case restartWhole:
		w.replace(h, s.data, false)
	case failover:
		w.replace(h, s.old(f.extra), true)
		w.after(f.span, func() { w.kill(s) })
	case flush:
		h.touched = w.now
		record := s.record
		s.data = data{}
		if w.Rules.FlushKeepsRecord {
			s.record = record
		}
	case demote:
		h.touched = w.now
		was := *s
		s.data, s.process = s.old(f.extra), w.process()
		if f.extra&1 == 0 {
			s.data = data{}
		}
		if w.Rules.NoReplid {
			s.record, s.process = was.record, was.process
		}
	case stop:
		s.stopped, h.broken = true, true
		w.after(f.span, func() { s.goOn(); w.mended(h) })
	case stepAhead:
		w.step(h, 300*time.Millisecond+time.Duration(f.extra%uint64(time.Hour)))
	case stepBack:
		w.step(h, -300*time.Millisecond-time.Duration(f.extra%uint64(10*time.Second)))
	case stepTwice:
		d := time.Duration(f.extra % uint64(2*time.Second))
		s.clock.steps += d
		w.after(f.span/100, func() { s.clock.steps -= d })
	case cutOff:
		h.cut, h.broken = true, true
		w.after(f.span, func() { h.cut = false; w.mended(h) })
	case alias:
		other := w.hosts[int(f.extra%uint64(len(w.hosts)))]
		if other == h {
			return
		}
		w.lead(h, other)
		w.after(f.span, func() { w.lead(h, nil) })
	case cutFromOne:
		c := w.clients[int(f.extra%uint64(len(w.clients)))]
		c.cut[h.no] = true
		w.after(f.span, func() { c.cut[h.no] = false })
	default:
	}
}

// mended ends a fault. What clients have begun about it may still be under way, so the next
// fault must leave them MaxTTL, as the README says.
func (w *world) mended(h *host) { h.broken, h.fit = false, w.now.Add(w.maxTTL) }

// unfit reports whether a master is broken, was so of late, or may not have its vote yet.
func (h *host) unfit() bool {
	if !h.votes() {
		return true
	}
	return h.broken || h.current.w.now < h.fit || h.suspect != "" && h.suspect == h.tenure()
}

// votes reports whether a master has tenure, and no other that has knows that its seat was
// given away.
func (h *host) votes() bool {
	r := h.current.now()
	if !h.current.tenured() {
		return false
	}
	for _, o := range h.current.w.hosts {
		if other := o.current.now(); o.current.tenured() && other.Group == r.Group && other.Terms[r.Seat-1].No > r.Term() {
			return false
		}
	}
	return true
}

// tenure names the tenure that a master has.
func (h *host) tenure() string {
	if r := h.current.now(); r.Tenured(h.current.process) && r.Seat > 0 {
		return r.Terms[r.Seat-1].Waiter.String() + r.Identity + string(rune('0'+r.Term()%64))
	}
	return ""
}

func (w *world) step(h *host, d time.Duration) {
	h.touched = w.now
	h.suspect = h.tenure() // until somebody has noticed, and it has another
	h.current.clock.steps += d
	h.setBack = h.setBack || d < 0 // a key lives on until somebody asks for it
}

// replace has another process answer at an address. The old one is gone, or goes on for those
// that are connected to it.
func (w *world) replace(h *host, d data, stays bool) {
	h.touched = w.now
	old := h.current
	h.former = append(h.former, old)
	h.current = &server{w: w, home: h, process: w.process(), data: d, clock: old.clock, killed: map[[2]int]int{}}
	if w.Rules.OneProcess {
		h.current.process = old.process
	}
	if !stays {
		w.kill(old)
	}
}

func (w *world) kill(s *server) {
	s.dead = true
	s.home.touched = w.now
	for _, c := range w.clients {
		for _, l := range c.links {
			if l.conn == s {
				l.reset(s)
			}
		}
	}
}

// lead has an address lead to another master, or to its own again.
func (w *world) lead(h, other *host) {
	h.alias, h.broken = other, true
	if other == nil {
		w.mended(h)
	}
	for _, c := range w.clients {
		if l := c.links[h.no]; l.conn != nil {
			l.reset(l.conn)
		}
	}
}

// old returns what a master had some time ago.
func (s *server) old(chance uint64) data {
	if len(s.before) == 0 {
		return data{}
	}
	return s.before[chance%uint64(len(s.before))]
}

// goOn lets a process that stood still go on, with all that came meanwhile.
func (s *server) goOn() {
	s.stopped = false
	backlog := s.backlog
	s.backlog = nil
	for _, do := range backlog {
		s.receive(do)
	}
}

func (w *world) strikeClient(f fault) {
	c := w.clients[f.who%len(w.clients)]
	if c.paused {
		return
	}
	w.result.Faults[f.kind]++
	w.tell("client %d %s", c.process, kindNames[f.kind])
	w.note('f', int(f.kind), c.no, f.extra)
	switch f.kind {
	case pauseClient:
		c.paused = true
		if w.Rules.Monotonic { // the machine is suspended, and this clock stops
			c.missed = w.now
		}
		w.after(f.span, func() { c.goOn() })
	case standStill:
		c.paused, c.missed = true, w.now
		w.after(f.span, func() { c.goOn() })
	case crashClient:
		c.dead = true
		fresh := w.newClient(c.no)
		w.clients[c.no] = fresh
		w.after(f.span/4, fresh.worker.begin)
	default:
	}
}

// goOn ends a pause.
func (c *client) goOn() {
	if c.missed != 0 {
		c.behind += c.w.now.Sub(c.missed)
		c.missed = 0
	}
	c.resume()
}

// remember takes a snapshot of each master now and then.
func (w *world) remember() {
	for _, h := range w.hosts {
		s := h.current
		s.before = append(s.before, s.data) // a record is never written
		s.before = slices.Delete(s.before, 0, max(0, len(s.before)-4))
	}
	w.after(w.maxTTL/4, w.remember)
}
