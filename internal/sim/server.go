package sim

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// host is an address that leads to a master.
type host struct {
	no      int
	address string
	current *server
	former  []*server // that were replaced; they may go on for those that are connected
	setBack bool
	cut     bool          // from everybody
	alias   *host         // where the address leads instead
	fit     clock.Instant // again, after a fault
	broken  bool          // by a fault that is not mended
	touched clock.Instant // when its memory or clock was last harmed
	suspect string        // the tenure that it had when its clock was stepped
}

// server is one process of a master.
type server struct {
	w       *world
	home    *host
	process string
	data
	clock   wall
	dead    bool
	stopped bool
	backlog []func()       // what came while it was stopped
	killed  map[[2]int]int // by client process and address: connections before this one are ended
	before  []data         // snapshots, as a replica that lags has them
}

const names = 2

// data is what a master remembers.
type data struct {
	keys     [names]key
	record   *tenure.Record
	counters [names]uint64
}

type key struct {
	token uint64 // 0 for none
	until tenure.Time
}

// wall is a wall clock: it may run fast or slow, and be stepped.
type wall struct {
	rate  int64 // parts per million that it is fast
	steps time.Duration
}

func (c wall) at(now clock.Instant) tenure.Time {
	return tenure.Time((int64(now) + int64(now)/1_000_000*c.rate + int64(c.steps)) / 1000)
}

// op is what a request asks of a master, as in package master.
type op uint8

const (
	acquire op = iota
	countUp
	extend
	release
	look
	change
)

// request is one question.
type request struct {
	op      op
	name    int
	token   uint64
	ttl     time.Duration
	fenced  bool
	hint    uint64 // of acquire; of countUp, the fence
	restore bool
	dial    bool // over a new connection
	seen    *guard.Tail
	do      tenure.Transition
}

// reply is what a master says.
type reply struct {
	answer  quorum.Answer
	left    time.Duration
	missing bool
	fence   uint64
	unsent  bool
	process string
	tail    *guard.Tail
}

func (s *server) time() tenure.Time { return s.clock.at(s.w.now) }

// live returns a name's key, if it has not ended. A key lives until its time is over, and a
// bit: see keyIsExpired in Redis.
func (s *server) live(name int) *key {
	k := &s.keys[name]
	if k.token != 0 && s.time()/1000 > k.until/1000 {
		*k = key{}
	}
	return k
}

func (s *server) set(name int, token uint64, ttl time.Duration) {
	ms := int64((ttl + time.Millisecond - 1) / time.Millisecond)
	if s.w.Rules.NoTTL {
		ms = 1 << 40
	}
	s.keys[name] = key{token, (s.time()/1000 + tenure.Time(ms)) * 1000}
}

// pttl returns how much longer a key lives.
func (s *server) pttl(k *key) time.Duration {
	return time.Duration(k.until/1000-s.time()/1000) * time.Millisecond
}

func (s *server) exec(r request) reply {
	k := s.live(r.name)
	switch r.op {
	case acquire:
		return s.acquire(r, k)
	case countUp:
		if k.token != r.token {
			return s.refuse(k)
		}
		if s.w.Rules.NoWriteBack {
			return reply{answer: quorum.Granted}
		}
		s.counters[r.name] = max(s.counters[r.name], r.hint)
	case extend:
		return s.extend(r, k)
	case release:
		return s.release(r, k)
	case change:
		return s.change(r)
	case look:
	}
	return reply{answer: quorum.Granted}
}

func (s *server) refuse(k *key) reply {
	if k.token == 0 {
		return reply{answer: quorum.Refused, missing: true}
	}
	return reply{answer: quorum.Refused, left: max(time.Millisecond, s.pttl(k))}
}

// acquire is SET NX PX, and fence.lua.
func (s *server) acquire(r request, k *key) reply {
	if k.token != 0 && !s.w.Rules.Overwrites {
		return reply{answer: quorum.Refused}
	}
	var no uint64
	if r.fenced {
		floor := uint64(0)
		if s.record != nil {
			floor = s.record.Floor
		}
		no = max(max(floor, s.counters[r.name])+1, r.hint)
		if s.w.Rules.SameFence {
			no = max(floor, s.counters[r.name], r.hint, 1)
		}
		s.counters[r.name] = no
	}
	s.set(r.name, r.token, r.ttl)
	return reply{answer: quorum.Granted, fence: no}
}

// extend is extend.lua.
func (s *server) extend(r request, k *key) reply {
	own := k.token == r.token || s.w.Rules.ExtendAnybodys && k.token != 0
	if !own && (k.token != 0 || !r.restore && !s.w.Rules.ExtendRestores) {
		return s.refuse(k)
	}
	if k.token == 0 || s.pttl(k) < r.ttl {
		s.set(r.name, r.token, r.ttl)
	}
	return reply{answer: quorum.Granted}
}

// release is release.lua.
func (s *server) release(r request, k *key) reply {
	if k.token == r.token || s.w.Rules.PlainDEL && k.token != 0 {
		*k = key{}
		s.w.publish(s, r.name)
		return reply{answer: quorum.Granted}
	}
	if k.token != 0 && s.record != nil && s.record.MaxTTL != 0 {
		if most := s.record.MaxTTL + clock.Grace; s.pttl(k) > most {
			s.w.result.Counters.Cut++
			s.set(r.name, k.token, most)
		}
	}
	return s.refuse(k)
}

// change is swap.lua.
func (s *server) change(r request) reply {
	if r.seen.Process != s.process || !s.same(r.seen.Record) {
		return reply{answer: quorum.Refused}
	}
	now := s.time()
	if _, waits := r.do.(tenure.Await); waits && s.w.Rules.NoWait {
		now -= tenure.Time(time.Hour.Microseconds())
	}
	after, ok := r.do.Apply(*s.now(), s.process, now)
	if !ok {
		return reply{answer: quorum.Refused}
	}
	s.record = &after
	if _, arms := r.do.(tenure.Arm); arms {
		s.home.fit = s.w.now.Add(s.w.maxTTL) // what was begun before may still come: see mended
	}
	s.w.tell("master %d: %T%+v", s.home.no+1, r.do, r.do)
	return reply{answer: quorum.Granted}
}

// now returns the record; an empty one for none.
func (s *server) now() *tenure.Record {
	if s.record == nil {
		s.record = &tenure.Record{}
	}
	return s.record
}

// same reports whether a record that was seen, perhaps with what was counted since, is still
// the one that there is.
func (s *server) same(seen *tenure.Record) bool {
	is := *s.now()
	is.High = seen.High
	return fmt.Sprint(is.Values()) == fmt.Sprint(seen.Values())
}

// tail is what ends a batch.
func (s *server) tail(r request, asked clock.Instant, dialled bool) *guard.Tail {
	t := &guard.Tail{Process: s.process, Record: s.now(), Time: s.time(), Asked: asked, Dialled: dialled}
	if r.op == look {
		if high := max(s.counters[0], s.counters[1], s.record.Floor); high > s.record.High {
			with := *s.record
			with.High = high
			t.Record = &with
		}
	}
	return t
}

// tenured reports whether the master has its vote.
func (s *server) tenured() bool { return s.now().Tenured(s.process) }

// receive executes a request, unless the process is gone or stands still.
func (s *server) receive(f func()) {
	switch {
	case s.dead:
	case s.stopped:
		s.backlog = append(s.backlog, f)
	default:
		f()
	}
}
