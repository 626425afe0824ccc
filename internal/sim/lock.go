package sim

import (
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
)

// drift is what production has.
var drift = clock.DefaultDrift

// worker is who locks, in a client: one name at a time, again and again.
type worker struct {
	c         *client
	name      int
	ttl       time.Duration
	token     uint64
	begun     clock.Instant // Lock was called, in true time
	least     uint64        // the greatest fence that had been returned by then
	contender *quorum.Contender
	waiting   bool
	tries     int
	timer     int // only the latest counts
	hold      *hold
}

// hold is what is held: see hold.go of package redlock.
type hold struct {
	c        *client
	name     int
	token    uint64
	fence    uint64
	ttl      time.Duration
	until    *quorum.Hold
	asked    *question
	begun    clock.Instant // in true time
	dropped  bool
	released bool
	stay     clock.Instant // by its own clock: when it lets go
	read     int           // what it found at the resource; -1 if it was turned away
}

// valid is Lease.Valid.
func (h *hold) valid() bool {
	return !h.dropped && !h.released && !h.c.dead && h.until.Left(h.c.now()) > 0
}

// begin has the worker want a lock.
func (k *worker) begin() {
	w := k.c.w
	if w.over {
		return
	}
	k.name, k.ttl = w.chance.IntN(names), w.between(w.minTTL, w.maxTTL)
	k.begun, k.least = w.now, w.judge.greatest[k.name]
	k.contender, k.tries = quorum.NewContender(k.c.now()), 0
	k.token = w.id()
	k.attempt()
}

// attempt is one round of votes on one fresh token.
func (k *worker) attempt() {
	c, w := k.c, k.c.w
	k.waiting = false
	if w.over {
		return
	}
	k.tries++
	if !w.Rules.OneToken {
		k.token = w.id()
	}
	start := c.now()
	deadline := drift.Deadline(start, k.ttl)
	var q *question
	q = c.newQuestion(deadline, true, func(d quorum.Decision) {
		if d == quorum.Won && w.fencing {
			k.fence(q, start)
			return
		}
		k.decided(q, start, 0, d)
	})
	r := request{op: acquire, name: k.name, token: k.token, ttl: k.ttl + grace(w), fenced: w.fencing}
	if w.fencing {
		wall := (time.Duration(w.now) + c.ahead + 24*time.Hour).Microseconds()
		r.hint = max(uint64(wall), c.hint+1)
		if w.noHints {
			r.hint = 0
		}
	}
	q.ask(func(int) request { return r })
}

// grace is for what keys outlive what their holders count on.
func grace(w *world) time.Duration {
	if w.Rules.NoGrace {
		return 0
	}
	return clock.Grace
}

// fence is Client.fence.
func (k *worker) fence(q *question, start clock.Instant) {
	c, w := k.c, k.c.w
	given := make([]uint64, len(q.votes))
	for i, v := range q.votes {
		if v.answer == quorum.Granted {
			given[i] = v.fence
		}
	}
	f := quorum.NewFence(given)
	no := f.No()
	if w.Rules.LeastFence {
		no = slices.Min(slices.DeleteFunc(slices.Clone(given), func(n uint64) bool { return n == 0 }))
	}
	c.hint = max(c.hint, no)
	tails := q.tails
	if tails == nil {
		tails = make([]*guard.Tail, len(q.votes))
	}
	if w.Rules.OneKnowsFence || w.Rules.LeastFence || q.tails == nil || c.countVotes(tails, f.Has) >= quorum.Majority(len(q.votes)) {
		w.result.Counters.OneTrip++
		k.decided(q, start, no, quorum.Won)
		return
	}
	w.result.Counters.WriteBack++
	up := c.newQuestion(q.deadline, true, func(d quorum.Decision) { k.decided(q, start, f.No(), d) })
	for i, v := range q.votes {
		if !f.Asks(i) {
			answer := quorum.Unknown
			if f.Has(i) {
				answer = quorum.Granted
			}
			up.take(i, reply{answer: answer, process: v.process, tail: q.tails[i]})
		}
	}
	for i, l := range c.links {
		if f.Asks(i) {
			l.send(request{op: countUp, name: k.name, token: k.token, hint: f.No()}, func(r reply) { up.take(i, r) })
		}
	}
}

// decided goes on with the lock, or lets go and waits.
func (k *worker) decided(q *question, start clock.Instant, fence uint64, d quorum.Decision) {
	c, w := k.c, k.c.w
	if d != quorum.Won {
		k.letGo(q)
		return
	}
	ripe := c.now()
	c.trip = ripe.Sub(start)
	for i := range q.tails {
		if guard.Vouched(q.tails, i) {
			c.watches[i].Trust(q.tails[i])
		}
		if guard.Drifted(q.tails, i) {
			c.keeper.wake()
		}
	}
	if w.Rules.FromTheEnd {
		start = ripe
	}
	dr := drift
	if w.Rules.NoDrift {
		dr = clock.Drift{Floor: 1}
	}
	h := &hold{c: c, name: k.name, token: k.token, fence: fence, ttl: k.ttl, asked: q, begun: k.begun,
		until: quorum.NewHold(len(c.links), k.ttl, dr, start)}
	k.hold = h
	w.judge.held(h, k)
	h.stay = c.now().Add(w.upTo(k.ttl / 2))
	if !w.healed && w.happens(20) { // then the others are to have their turns: see judge.quiet
		h.stay = c.now().Add(w.upTo(6 * k.ttl))
	}
	w.judge.read(h)
	h.next()
}

// letGo releases an attempt that failed, and waits for the next.
func (k *worker) letGo(q *question) {
	c := k.c
	release := request{op: release, name: k.name, token: k.token}
	left := len(c.links)
	var objections bool
	for i := range q.tails {
		if t := q.tails[i]; t != nil && c.guard.Admit(i, t) != nil {
			objections = true
		}
	}
	for i, l := range c.links {
		l.send(release, func(r reply) {
			q.votes[i].left = r.left
			if left--; left > 0 {
				return
			}
			if objections {
				c.keeper.ask()
			}
			k.wait(q)
		})
	}
}

// wait waits for the next attempt: see wait.go of package redlock.
func (k *worker) wait(q *question) {
	c := k.c
	standings := make([]quorum.Standing, len(q.votes))
	for i, v := range q.votes {
		standings[i] = quorum.Standing{Answer: v.answer, Left: v.left}
	}
	k.contender.Failed(standings, c.now())
	k.waiting = true
	k.schedule()
}

func (k *worker) schedule() {
	c, w := k.c, k.c.w
	d := max(0, k.contender.Due().Sub(c.now())) + k.contender.Jitter(w.chance.Float64(), c.trip, c.now())
	k.timer++
	mine := k.timer
	c.later(max(d, 100*time.Microsecond), func() {
		if k.waiting && k.timer == mine {
			k.attempt()
		}
	})
}

// publish tells those who wait that a key is free.
func (w *world) publish(s *server, name int) {
	for _, c := range w.clients {
		if k := &c.worker; k.waiting && k.name == name && !w.happens(w.loss) {
			w.after(w.latency(), func() {
				c.deliver(func() {
					if k.waiting && k.name == name {
						k.contender.Freed(s.home.no, c.now())
						k.schedule()
					}
				})
			})
		}
	}
}

// next has the holder extend when it is time, and let go when it is done.
func (h *hold) next() {
	c := h.c
	due := min(h.stay, h.until.Renewal())
	c.later(max(due.Sub(c.now()), time.Millisecond), func() {
		switch {
		case h.released:
		case !h.valid() && !c.w.Rules.NoContinuity || !c.now().Before(h.stay):
			h.release()
		default:
			h.extend()
		}
	})
}

// extend is hold.askToExtend and what follows.
func (h *hold) extend() {
	c, w := h.c, h.c.w
	start := c.now()
	if !start.Before(h.until.Deadline()) && !w.Rules.NoContinuity {
		h.release()
		return
	}
	h.until.Asked(start)
	if h.asked.tails != nil {
		for i, v := range h.asked.votes {
			if v.answer == quorum.Granted {
				h.until.Granted(i, h.asked.tails[i].Tenure())
			}
		}
	}
	deadline := h.until.Deadline()
	if w.Rules.NoContinuity {
		deadline = clock.Never
	}
	var q *question
	q = c.newQuestion(deadline, true, func(d quorum.Decision) {
		if d == quorum.Won || w.Rules.MinorityExtends {
			h.until.Extended(start)
			w.result.Counters.Extended++
			w.judge.extended(h)
		} else if q.round.RefusedByMajority() {
			h.dropped = true
		}
		h.next()
	})
	h.asked = q
	ttl := h.ttl + grace(w)
	if w.Rules.NoTenure {
		q.ask(func(int) request { return request{op: extend, name: h.name, token: h.token, ttl: ttl} })
		return
	}
	q.ask(func(slot int) request {
		r := request{op: extend, name: h.name, token: h.token, ttl: ttl}
		if t := c.tenure(slot); t != "" && h.until.MayHaveLost(slot, t) {
			r.restore = true
			w.result.Counters.Restores++
		}
		return r
	})
}

// tenure returns in which tenure a master was heard last.
func (c *client) tenure(slot int) string {
	if t := c.heard[slot]; t != nil {
		return t.Tenure()
	}
	return ""
}

// release is Lease.Release.
func (h *hold) release() {
	c, w := h.c, h.c.w
	w.after(w.latency(), func() { w.judge.write(h) }) // in time or not
	h.released = true
	c.worker.hold = nil
	left := len(c.links)
	for _, l := range c.links {
		l.send(request{op: release, name: h.name, token: h.token}, func(reply) {
			if left--; left == 0 {
				c.later(w.upTo(w.think), c.worker.begin)
			}
		})
	}
}
