package lab

import (
	"math"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/locks"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

const (
	short = 600 * time.Millisecond // a ttl that is to pass
	// passed is when even the keys of such a lease are over, and some time more.
	passed = short + grace + time.Second
	// chance is what a wrong lock has to show that it is.
	chance = 700 * time.Millisecond
)

var clientFaults = []Fault{{
	ID: "contention", Title: "nothing fails: 1000 workers sell from a stock of 1001", Short: true, inside: true, run: contention,
	Words: "A stock of 1001 pieces is sold by 1000 workers in four processes, eight at a time. Each takes the lock, reads what was sold, writes one more, and lets go. One piece must be left.",
}, {
	ID: "client-killed", Title: "the holder is killed", Short: true, inside: true, run: clientKilled,
	Words: "A takes the lock, and its process is killed. B wants the lock, and should have it when the lease is over.",
}, {
	ID: "killed-in-between", Title: "the holder is killed between SETNX and EXPIRE", inside: true, run: killedInBetween,
	Words: "A's SETNX has reached the master, and its process is killed before anything else does. B wants the lock.",
}, {
	ID: "stopped-then-writes", Title: "the holder stands still past its lease, then writes", Short: true, inside: true, run: stoppedThenWrites,
	Words: "A takes the lock, reads the resource, sees that its lease is valid, and is stopped for longer than the lease, as by a long garbage collection or by its host. B takes the lock, reads and writes. A goes on, and writes what it was about to.",
}, {
	ID: "overrun", Title: "the holder works longer than its lease", inside: true, run: overrun,
	Words: "A takes the lock, reads the resource, and works for longer than its lease without looking. B takes the lock, reads and writes. A writes, and lets go. Then C wants the lock, while B still has it.",
}, {
	ID: "late-write", Title: "the holder's write is late in the network", inside: true, run: lateWrite,
	Words: "A takes the lock, reads the resource and writes; the network keeps the write back. A gives up and lets go. B takes the lock, reads and writes. Then A's write lands.",
}}

const (
	pieces  = 1001
	workers = 1000
)

func contention(s *stage) {
	s.quiet = true
	const shops = 4
	from := clock.System.Now()
	for i := range shops {
		c := s.client(string(rune('A'+i)), s.masters)
		c.order(order{Do: sell, TTL: maxTTL, Sales: workers / shops, Timeout: 2 * time.Minute})
	}
	for _, c := range s.clients {
		a := c.answer()
		for _, sale := range a.Sales {
			s.rec.held(c.lane, sale.From, sale.To)
		}
		s.rec.ask(Ask{Lane: c.lane, From: s.rec.since(from), To: s.rec.since(a.At), Got: a.Why == "", Why: a.Why, Err: a.Err, limit: math.MaxInt})
	}
	values := s.values()
	if len(values) == 0 {
		s.Fatal("nobody has sold anything")
	}
	s.rec.sold(Stock{pieces, workers, pieces - values[len(values)-1]})
}

func clientKilled(s *stage) {
	a, b := s.together()
	if a.begins(short) {
		a.kill()
		if b.takes() {
			b.lets()
		}
	}
}

func killedInBetween(s *stage) {
	a, b := s.together()
	a.front(s.struck()).Judge(func(command []string) proxy.Verdict {
		switch command[0] {
		case "set":
			if s.design.kind == locks.SETNX { // nothing comes after it
				return proxy.LoseReply
			}
		case "pexpire":
			return proxy.HoldBack
		}
		return proxy.Pass
	})
	a.wants(short, prompt)
	if !redistest.Poll(func() bool { return s.leftover() != nil }) {
		s.Fatal("A's SETNX does not reach the master")
	}
	a.kill()
	if b.takes() {
		b.lets()
	}
}

func stoppedThenWrites(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	a.must(order{Do: read})
	a.do(order{Do: check})
	a.stop()
	w := b.wants(maxTTL, passed+prompt)
	if w.within(passed) {
		b.updates()
	}
	s.apart()
	a.order(order{Do: write}) // it had looked before
	a.goOn()
	s.landed(a.answer())
	s.apart()
	a.lets()
	s.finish(b, w)
}

func overrun(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	a.must(order{Do: read})
	w := b.wants(maxTTL, passed+prompt)
	if w.within(passed) {
		b.updates()
	}
	s.apart()
	s.landed(a.do(order{Do: write}))
	s.apart()
	a.lets()
	c := s.client("C", s.masters)
	third := c.wants(maxTTL, 2*prompt)
	third.within(chance / 2)
	s.finish(b, w)
	if third.granted() {
		c.lets()
	}
}

// finish has B work, if it has not yet, and let go.
func (s *stage) finish(b *client, w *wish) {
	in := w.done
	if !w.granted() {
		return
	}
	if !in {
		b.updates()
	}
	b.lets()
}

func lateWrite(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	a.must(order{Do: read})
	a.desk.Judge(func(command []string) proxy.Verdict {
		if slices.Contains(command, "rpush") {
			return proxy.HoldBack
		}
		return proxy.Pass
	})
	a.do(order{Do: write, Timeout: 300 * time.Millisecond})
	if a.desk.Held() == 0 {
		s.Fatal("A's write was not kept back")
	}
	a.lets()
	if !b.takes() {
		return
	}
	b.updates()
	s.apart()
	s.rec.note("resource", Struck, clock.System.Now(), "A's write lands")
	a.desk.Resume()
	if !redistest.Poll(func() bool { return len(s.values()) > 1 || s.refusals() > 0 }) {
		s.Fatal("A's write did not arrive")
	}
	b.lets()
}

// landed ends a cell in which a write neither landed nor was refused for its fence.
func (s *stage) landed(a answer) {
	if a.Why != "" && a.Why != stale {
		s.Fatalf("A can't write: %s", a.Err)
	}
}
