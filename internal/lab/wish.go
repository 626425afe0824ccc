package lab

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// wish is a client's that wants the lock.
type wish struct {
	c     *client
	from  clock.Instant
	done  bool
	got   bool
	why   why           // it has not got it
	limit time.Duration // how soon it should have the lock once nobody holds it
	// optional says that nothing follows from how it ends.
	optional bool
}

// wants has the client ask for the lock for as long as it has patience.
func (c *client) wants(ttl, patience time.Duration) *wish {
	now := clock.System.Now()
	c.s.rec.note(c.lane, Deed, now, "wants the lock")
	c.order(order{Do: acquire, TTL: ttl, Timeout: patience})
	return &wish{c: c, from: now, limit: prompt}
}

// within waits for so long, and reports whether the client has the lock.
func (w *wish) within(d time.Duration) bool {
	for end := clock.System.Now().Add(d); !w.done && clock.System.Now().Before(end); {
		if len(w.c.answers) > 0 {
			return w.granted()
		}
		time.Sleep(time.Millisecond)
	}
	return w.got
}

// granted waits until the client has the lock or has given up, and reports which.
func (w *wish) granted() bool {
	if w.done {
		return w.got
	}
	a := w.c.answer()
	if a.Why == broken {
		w.c.s.Fatalf("%s can't even ask for the lock: %s", w.c.lane, a.Err)
	}
	w.done, w.got, w.why = true, a.Why == "", a.Why
	rec := w.c.s.rec
	if w.optional {
		return w.got
	}
	rec.ask(Ask{Lane: w.c.lane, From: rec.since(w.from), To: rec.since(a.At), Got: w.got, Why: a.Why, Err: a.Err, limit: millis(w.limit)})
	return w.got
}

// begins has the client take the lock before anything is wrong. It reports false where the lock
// refuses the masters; else nothing can be staged if the client does not get it.
func (c *client) begins(ttl time.Duration) bool {
	w := c.wants(ttl, prompt)
	if !w.granted() && w.why != refused {
		c.s.Fatalf("%s can't take the lock, which is free: %s", c.lane, w.why)
	}
	return w.got
}

// must has the client do what can't fail here.
func (c *client) must(o order) {
	if a := c.do(o); a.Why != "" {
		c.s.Fatalf("%s can't %s: %s", c.lane, o.Do, a.Err)
	}
}

// takes has the client take the lock when it can be had. It reports whether it has it.
func (c *client) takes() bool { return c.wants(maxTTL, prompt).granted() }

func (c *client) lets() { c.do(order{Do: release, Timeout: time.Second}) }

// contest is how most cells end: A believes that it has the lock, B wants it, and has some
// time to get what it must not. Then A lets go, all reach all masters, and B must get it.
func (s *stage) contest(a, b *client, chance time.Duration) {
	w := b.wants(maxTTL, chance+prompt)
	if !s.forgot {
		w.limit = soon
	}
	if w.within(chance) {
		s.apart()
	}
	a.lets()
	a.reachAll()
	b.reachAll()
	if w.granted() {
		b.lets()
	}
}

// apart lets some time pass, so that people can tell in a drawing what came first.
func (s *stage) apart() { time.Sleep(100 * time.Millisecond) }

// updates has the client write what it reads, and one more.
func (c *client) updates() {
	c.must(order{Do: read})
	c.must(order{Do: write})
}
