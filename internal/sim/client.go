package sim

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// client is one client process.
type client struct {
	w       *world
	no      int
	process int // no other has this number
	dead    bool
	paused  bool
	backlog []func() // what came while it was paused

	rate    int64         // of its clock: parts per million that it is fast
	behind  time.Duration // that the clock missed
	missed  clock.Instant // when that began; 0 if it counts
	hint    uint64        // the greatest fence that it was given
	ahead   time.Duration // of its wall clock, which only makes hints
	trip    time.Duration
	cut     []bool // by master: the network between is
	links   []*link
	list    tenure.List
	guard   *guard.Guard
	watches []*guard.Watch
	heard   []*guard.Tail // by master: what it said last
	keeper  keeper
	worker  worker
}

func (w *world) newClient(no int) *client {
	w.ids++
	c := &client{w: w, no: no, process: int(w.ids), cut: make([]bool, len(w.hosts)), heard: make([]*guard.Tail, len(w.hosts))}
	c.rate = w.chance.Int64N(2*w.drift+1) - w.drift
	c.ahead = w.upTo(2*w.wallClocks) - w.wallClocks
	c.list = w.list()
	c.guard = guard.New(c.list)
	for _, h := range w.hosts {
		c.links = append(c.links, &link{c: c, host: h})
		c.watches = append(c.watches, guard.NewWatch(guard.Span(w.maxTTL)))
	}
	c.keeper = newKeeper(c)
	c.worker = worker{c: c}
	return c
}

// now reads the client's clock.
func (c *client) now() clock.Instant {
	now := c.w.now
	if c.missed != 0 {
		now = c.missed
	}
	return now.Add(time.Hour + time.Duration(int64(now)/1_000_000*c.rate) - c.behind)
}

// later has the client do something in a while, if it is still there then.
func (c *client) later(d time.Duration, do func()) { c.w.after(d, func() { c.deliver(do) }) }

// deliver has the client do something now, or when it goes on.
func (c *client) deliver(do func()) {
	switch {
	case c.dead:
	case c.paused:
		c.backlog = append(c.backlog, do)
	default:
		do()
	}
}

// resume lets a client go on, with all that came meanwhile, in order.
func (c *client) resume() {
	if !c.paused || c.dead {
		return
	}
	c.paused = false
	for len(c.backlog) > 0 && !c.paused {
		do := c.backlog[0]
		c.backlog = c.backlog[1:]
		do()
	}
}

// question is one thing asked of all masters at once: see question.go of package redlock.
type question struct {
	c        *client
	deadline clock.Instant
	round    *quorum.Round
	votes    []reply
	tails    []*guard.Tail // nil where no tenure is needed
	over     bool
	then     func(quorum.Decision)
}

func (c *client) newQuestion(deadline clock.Instant, tenured bool, then func(quorum.Decision)) *question {
	n := len(c.links)
	q := &question{c: c, deadline: deadline, votes: make([]reply, n), then: then}
	q.round = quorum.NewRound(n, deadline)
	if tenured && !c.w.Rules.NoTenure {
		q.tails = make([]*guard.Tail, n)
		q.round.CountBy(func(granted func(int) bool) int { return c.countVotes(q.tails, granted) })
	}
	return q
}

func (c *client) countVotes(tails []*guard.Tail, granted func(int) bool) int {
	if c.w.Rules.ByAddress {
		n := 0
		for i := range tails {
			if granted(i) {
				n++
			}
		}
		return n
	}
	if c.w.Rules.TermsApart {
		n := 0
		for i, t := range tails {
			alone := make([]*guard.Tail, len(tails))
			alone[i] = t
			one, _ := c.guard.Count(alone, func(slot int) bool { return slot == i && granted(i) })
			n += one
		}
		return n
	}
	n, all := c.guard.Count(tails, granted)
	if !all {
		c.keeper.wake()
	}
	return n
}

func (q *question) ask(request func(slot int) request) {
	for i, l := range q.c.links {
		l.send(request(i), func(r reply) { q.take(i, r) })
	}
}

// take takes a vote. That which decides ends the question; later ones are noted.
func (q *question) take(slot int, r reply) {
	if q.tails != nil {
		q.examine(slot, &r)
	}
	q.votes[slot] = r
	master := ""
	if !q.c.w.Rules.ByAddress {
		master = r.process
	}
	q.round.Count(quorum.Ballot{Voter: slot, Master: master, Answer: r.answer})
	q.decide()
}

func (q *question) decide() {
	if q.over || !q.ripeEnough() {
		return
	}
	q.over = true
	decision := q.round.Decide(q.c.now())
	if q.c.w.Rules.HalfQuorum && q.round.Tally().Granted >= len(q.votes)/2 {
		decision = quorum.Won
	}
	q.then(decision)
}

func (q *question) ripeEnough() bool {
	return q.round.Ripe() || q.c.w.Rules.HalfQuorum && q.round.Tally().Granted >= len(q.votes)/2
}

// examine takes what a master said with its vote: see question.examine.
func (q *question) examine(slot int, r *reply) {
	q.tails[slot] = r.tail
	if r.tail == nil {
		return
	}
	err := q.c.guard.Admit(slot, r.tail)
	switch {
	case err != nil:
		q.c.keeper.wake()
	case r.fence != 0 && !r.tail.Covers(r.fence):
		q.c.w.result.Counters.Uncovered++
	default:
		return
	}
	if r.answer == quorum.Granted {
		r.answer = quorum.Unknown
	}
}
