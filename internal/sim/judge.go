package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

// judge sees everything, at its true time, and says what does not hold. The checks are those
// of docs/chaos.md. (L3 is in L1 and L4 here: the order of events is known.)
type judge struct {
	w        *world
	holders  [names][]*hold // that have not let go
	latest   [names]*hold   // that got it
	greatest [names]uint64  // fence that was returned
	known    map[[2]uint64]bool
	length   [names]int    // of what is at the resource
	shown    [names]uint64 // the greatest fence that the resource was shown
	since    map[int]bool  // clients that had a lock since all was healed
}

// Violation is what does not hold.
type Violation struct {
	Check string // L1, L2, L4, L5, L6
	What  string
}

func (j *judge) found(check, format string, args ...any) {
	v := Violation{check, fmt.Sprintf(format, args...)}
	j.w.result.Violations = append(j.w.result.Violations, v)
	j.w.tell("%s: %s", v.Check, v.What)
}

// held judges a lock that a client just got.
func (j *judge) held(h *hold, k *worker) {
	w := j.w
	w.result.Acquired++
	w.note('h', h.c.process, h.name, h.fence^h.token)
	w.tell("client %d has name %d for %v, fence %d", h.c.process, h.name+1, h.until.Left(h.c.now()), h.fence)
	if w.healed {
		j.since[h.c.no] = true
	}
	j.holders[h.name] = slices.DeleteFunc(j.holders[h.name], func(o *hold) bool { return o.released || o.c.dead })
	j.alone(h)
	j.holders[h.name] = append(j.holders[h.name], h)
	if h.valid() {
		j.latest[h.name] = h
	}
	j.kept(h)
	if w.fencing {
		no := [2]uint64{uint64(h.name), h.fence}
		if j.known[no] {
			j.found("L4", "fence %d of name %d is given twice", h.fence, h.name+1)
		}
		j.known[no] = true
		if h.fence <= k.least {
			j.found("L4", "client %d has fence %d of name %d, and %d was there before it began", h.c.process, h.fence, h.name+1, k.least)
		}
		j.greatest[h.name] = max(j.greatest[h.name], h.fence)
	}
}

func (j *judge) extended(h *hold) {
	j.w.note('e', h.c.process, h.name, h.token)
	j.w.tell("client %d extends name %d, for %v", h.c.process, h.name+1, h.until.Left(h.c.now()))
	if last := j.latest[h.name]; last != h && h.valid() && !j.w.OutOfModel {
		j.found("L1", "client %d extends name %d, which client %d had meanwhile", h.c.process, h.name+1, last.c.process)
	}
	j.alone(h)
	j.kept(h)
}

// alone is L1.
func (j *judge) alone(h *hold) {
	if j.w.OutOfModel || !h.valid() {
		return
	}
	for _, o := range j.holders[h.name] {
		if o != h && o.valid() {
			j.found("L1", "clients %d and %d have name %d, for %v and %v more",
				o.c.process, h.c.process, h.name+1, o.until.Left(o.c.now()), h.until.Left(h.c.now()))
		}
	}
}

// kept is L2: a majority keeps the token until the deadline, and for most of the grace. Of
// masters that were harmed meanwhile nothing is asked.
func (j *judge) kept(h *hold) {
	w := j.w
	if w.OutOfModel || !h.valid() {
		return
	}
	left := scale(h.until.Left(h.c.now()), h.c.rate) + clock.Grace*995/1000
	n := 0
	for _, host := range w.hosts {
		if host.touched >= h.begun || host.current.keeps(h, left) ||
			slices.ContainsFunc(host.former, func(s *server) bool { return !s.dead && s.keeps(h, left) }) {
			n++
		}
	}
	if n < quorum.Majority(len(w.hosts)) {
		j.found("L2", "client %d relies on name %d for %v, and only %d masters keep it for so long and the grace", h.c.process, h.name+1, left-clock.Grace*995/1000, n)
	}
}

func (s *server) keeps(h *hold, left time.Duration) bool {
	k := s.live(h.name)
	return k.token == h.token && scale(time.Duration(k.until-s.time())*time.Microsecond, s.clock.rate) >= left
}

// scale returns how long a time lasts that is d by a clock that is fast.
func scale(d time.Duration, rate int64) time.Duration {
	return d - time.Duration(int64(d)/1_000_000*rate)
}

// read and write are the resource, which checks fences. Without fences it is not promised
// that a write which is late in the network does no harm.
func (j *judge) read(h *hold) {
	h.read = -1
	if j.w.Rules.WritesOnly || j.admits(h) {
		h.read = j.length[h.name]
	}
}

func (j *judge) write(h *hold) {
	if h.read < 0 || !j.admits(h) {
		j.w.result.Counters.Stale++
		return
	}
	if h.read != j.length[h.name] {
		j.found("L5", "client %d had read %d entries of name %d, and writes when there are %d", h.c.process, h.read, h.name+1, j.length[h.name])
	}
	j.length[h.name]++
	h.read = j.length[h.name]
}

func (j *judge) admits(h *hold) bool {
	if !j.w.fencing || h.fence < j.shown[h.name] && !j.w.Rules.ResourceForgets {
		return false
	}
	j.shown[h.name] = max(j.shown[h.name], h.fence)
	return true
}

// quiet is L6, when there were no faults for long enough; it reports whether all is well.
func (j *judge) quiet(last bool) bool {
	for _, h := range j.w.hosts {
		if !h.votes() && !j.w.Rules.NoTenure {
			if last {
				j.found("L6", "master %d has no vote: %+v", h.no+1, *h.current.now())
			}
			return false
		}
	}
	for _, c := range j.w.clients {
		if !j.since[c.no] {
			if last {
				j.found("L6", "client %d gets no lock: waiting %v, due in %v, paused %v, keeper %v, hold %v", c.process, c.worker.waiting, c.worker.contender.Due().Sub(c.now()), c.paused, c.keeper.running, c.worker.hold)
			}
			return false
		}
	}
	return true
}

// clean is L6, when all have ended.
func (j *judge) clean() {
	for _, h := range j.w.hosts {
		for name := range names {
			if k := h.current.live(name); k.token != 0 && !h.setBack {
				j.found("L6", "master %d keeps a key of name %d for %v", h.no+1, name+1, h.current.pttl(k))
			}
		}
	}
}
