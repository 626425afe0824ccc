package sim

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
)

// timeout is how long a client waits for an answer.
const timeout = 150 * time.Millisecond

// link is a client's way to a master: one connection at a time, on which all stays in order.
type link struct {
	c     *client
	host  *host
	conn  *server // nil while there is no connection
	epoch int
	there clock.Instant // when what was sent last arrives
	back  clock.Instant // when what was answered last arrives
	retry clock.Instant // not before
	calls []*call
}

type call struct {
	request
	done  func(reply)
	over  bool
	asked clock.Instant // by the client's clock
}

// send sends a request. Exactly one reply comes of it.
func (l *link) send(r request, done func(reply)) {
	w := l.c.w
	if r.dial && l.conn != nil {
		l.hangUp()
		l.retry = 0
	}
	if l.conn == nil && !l.connect() {
		l.c.later(0, func() { done(reply{unsent: true}) })
		return
	}
	k := &call{request: r, done: done, asked: l.c.now()}
	l.calls = append(l.calls, k)
	conn, epoch := l.conn, l.epoch
	l.c.later(timeout, func() {
		if !k.over && l.epoch == epoch {
			l.hangUp()
		}
	})
	if w.happens(w.loss) || l.host.cut || l.c.cut[l.host.no] {
		l.there = clock.Never // and nothing after it comes through on this connection
	}
	if l.there == clock.Never {
		return
	}
	l.there = max(l.there, w.now.Add(w.latency()))
	w.at(l.there, func() { conn.receive(func() { l.execute(conn, epoch, k) }) })
}

// connect opens a connection. What comes first on it ends its predecessor, of which nothing
// is executed any more then.
func (l *link) connect() bool {
	w := l.c.w
	to := l.host
	if to.alias != nil {
		to = to.alias
	}
	if w.now < l.retry || to.current.dead {
		return false
	}
	l.conn = to.current
	l.epoch++
	l.there, l.back = w.now.Add(w.latency()+w.latency()), 0
	conn, epoch, me := l.conn, l.epoch, l.id()
	if !w.noKill {
		w.at(l.there, func() {
			conn.receive(func() { conn.killed[me] = max(conn.killed[me], epoch) })
		})
	}
	return true
}

// id tells a client's connections through one address from all others.
func (l *link) id() [2]int { return [2]int{l.c.process, l.host.no} }

// execute has the master execute a request, and say what it has to say.
func (l *link) execute(s *server, epoch int, k *call) {
	w := l.c.w
	if epoch < s.killed[l.id()] {
		w.result.Counters.Killed++
		return
	}
	if epoch != l.epoch {
		w.result.Counters.Late++
	}
	r := s.exec(k.request)
	r.process = s.process
	finish := func() {
		if k.op != release && k.op != change {
			r.tail = s.tail(k.request, k.asked, k.dial)
		}
		l.answer(epoch, k, r)
	}
	if w.happens(w.straddle) { // what comes behind the vote is executed later
		w.result.Counters.Straddled++
		w.after(w.upTo(timeout*2/3), func() { s.receive(finish) })
		return
	}
	finish()
}

func (l *link) answer(epoch int, k *call, r reply) {
	w := l.c.w
	if l.epoch != epoch || l.back == clock.Never {
		return
	}
	if w.happens(w.loss) || l.host.cut || l.c.cut[l.host.no] {
		l.back = clock.Never
		return
	}
	l.back = max(l.back, w.now.Add(w.latency()))
	at := l.back
	l.c.w.at(at, func() {
		l.c.deliver(func() {
			if k.over || l.epoch != epoch {
				return
			}
			k.over = true
			if len(l.calls) > 32 {
				l.sweep()
			}
			if r.tail != nil {
				l.c.watches[l.host.no].See(r.tail, l.c.now())
				if w.Rules.NoClockGuard || w.Rules.TrustsAnyClock && r.tail.Sight == quorum.Strange {
					r.tail.Sight, r.tail.Again = quorum.Steady, false
				}
				l.c.heard[l.host.no] = r.tail
			}
			k.done(r)
		})
	})
}

func (l *link) sweep() {
	open := l.calls[:0]
	for _, k := range l.calls {
		if !k.over {
			open = append(open, k)
		}
	}
	l.calls = open
}

// hangUp ends the connection: what is not answered stays unknown.
func (l *link) hangUp() {
	calls := l.calls
	l.conn, l.calls = nil, nil
	l.epoch++
	l.retry = l.c.w.now.Add(20 * time.Millisecond)
	for _, k := range calls {
		if !k.over {
			k.over = true
			k.done(reply{answer: quorum.Unknown})
		}
	}
}

// reset tells the client that its connection is gone.
func (l *link) reset(s *server) {
	epoch := l.epoch
	l.c.w.after(l.c.w.latency(), func() {
		l.c.deliver(func() {
			if l.conn == s && l.epoch == epoch {
				l.hangUp()
			}
		})
	})
}

// latency is how long one message takes.
func (w *world) latency() time.Duration {
	d := w.trip/2 + w.upTo(w.trip/2)
	if w.happens(w.slow) {
		d += w.upTo(w.slowest)
	}
	return d
}
