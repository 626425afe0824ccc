package lab

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

var networkFaults = []Fault{{
	ID: "holder-cut-off", Title: "the holder is cut off from its master, or from a majority", inside: true, run: holderCutOff,
	Words: "A takes the lock, and from then on reaches no majority of the masters. B wants the lock. Later A is connected again, and lets go.",
}, {
	ID: "late-reply", Title: "the master's answer comes when the lease is over", inside: true, run: lateReply,
	Words: "A asks for the lock, over a network that is so slow in one direction that the answer comes when the lease is over. B wants it as well.",
}, {
	ID: "late-set", Title: "the request arrives when its sender has given up", Short: true, inside: true, run: lateSet,
	Words: "A asks for the lock, and the network keeps the request back. A gives up. Then the request arrives, and takes a lock for nobody. B wants it.",
}, {
	ID: "late-release", Title: "the release of an earlier hold arrives late", Short: true, inside: true, run: lateRelease,
	Words: "A has the lock and lets go; the network keeps the command back. A lets go once more, which works, and takes the lock again. Then the first release arrives. B wants the lock while A has it.",
}, {
	ID: "late-extend", Title: "the extension of an earlier hold arrives late", inside: true, run: lateExtend,
	Words: "A has the lock and extends it; the network keeps the command back. A lets go. Then the extension arrives. B wants the lock, which nobody has.",
}}

// gaveUp is how long after 300 ms each client has given up the connection, too: ours, which has
// one to a master, after 500 ms in all.
const gaveUp = 400 * time.Millisecond

// keepBack keeps back the first command about the lock that the client sends to each master,
// until it is let go.
func (c *client) keepBack() (letGo func()) {
	for _, f := range c.fronts {
		var was atomic.Bool
		f.Judge(func(command []string) proxy.Verdict {
			isKey := func(word string) bool { return strings.HasSuffix(word, name) } // behind a prefix
			if slices.ContainsFunc(command, isKey) && !was.Swap(true) {
				return proxy.HoldBack
			}
			return proxy.Pass
		})
	}
	return func() {
		if slices.ContainsFunc(c.fronts, func(f *proxy.Proxy) bool { return f.Held() == 0 }) {
			c.s.Fatal("there was nothing to keep back")
		}
		c.late.Store(true)
		defer c.late.Store(false)
		for _, f := range c.fronts {
			f.Resume()
		}
		time.Sleep(100 * time.Millisecond) // for what was kept back to arrive
	}
}

func holderCutOff(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	off := a.fronts[:len(a.fronts)/2+1]
	for i, f := range off {
		s.strike(s.masters[i], "is cut off from A", func() {
			f.Judge(func([]string) proxy.Verdict { return proxy.Cut })
			f.Cut()
		})
	}
	if a.do(order{Do: extend, Timeout: 300 * time.Millisecond}).Why == "" {
		s.Fatal("A is not cut off: it has extended")
	}
	w := b.wants(maxTTL, passed+prompt)
	w.within(passed)
	for _, f := range off {
		f.Resume()
	}
	a.lets()
	if w.granted() {
		b.lets()
	}
}

func lateReply(s *stage) {
	// The answer comes after the end of the lease, and before anybody's patience ends.
	const ttl, delay = 250 * time.Millisecond, 400 * time.Millisecond
	a, b := s.together()
	a.warmUp()
	for _, f := range a.fronts {
		f.DelayReplies(delay)
	}
	s.rec.strike(a.lane, "what masters answer is slow from here on")
	late := a.wants(ttl, 6*ttl)
	late.optional = true
	if !redistest.Poll(func() bool { return s.leftover() != nil }) {
		s.Fatal("A's request does not arrive")
	}
	w := b.wants(maxTTL, 6*ttl+2*prompt)
	w.within(6 * ttl)
	if late.granted() {
		s.apart()
		a.lets()
	}
	for _, f := range a.fronts {
		f.Resume()
	}
	if w.granted() {
		b.lets()
	}
}

// warmUp has the client connect to its masters.
func (c *client) warmUp() {
	for _, o := range []order{{Do: acquire, Name: "another", TTL: short, Timeout: prompt}, {Do: release, Name: "another"}} {
		if a := c.do(o); a.Why != "" {
			c.s.Fatalf("client %s can't %s another lock: %s", c.lane, o.Do, a.Err)
		}
	}
}

func lateSet(s *stage) {
	a, b := s.together()
	a.warmUp()
	letGo := a.keepBack()
	w := a.wants(maxTTL, 300*time.Millisecond)
	w.optional = true
	if w.granted() {
		s.Fatal("A has the lock although its request was kept back")
	}
	time.Sleep(gaveUp)
	s.rec.strike(a.lane, "its request arrives after all")
	letGo()
	b.findsFree(maxTTL)
}

// findsFree has the client take a lock that nobody has, which it should have at once.
func (c *client) findsFree(ttl time.Duration) {
	w := c.wants(ttl, prompt)
	w.limit = time.Second
	if w.granted() {
		c.lets()
	}
}

func lateRelease(s *stage) {
	a, b := s.together()
	if !a.begins(maxTTL) {
		return
	}
	s.apart()
	letGo := a.keepBack()
	a.do(order{Do: release, Timeout: 300 * time.Millisecond})
	a.lets() // once more
	if !a.begins(maxTTL) {
		return
	}
	s.rec.strike(a.lane, "its first release arrives")
	letGo()
	s.contest(a, b, chance)
}

func lateExtend(s *stage) {
	a, b := s.together()
	if !a.begins(maxTTL) {
		return
	}
	letGo := a.keepBack()
	a.do(order{Do: extend, Timeout: 300 * time.Millisecond})
	time.Sleep(gaveUp)
	a.must(order{Do: release, Timeout: time.Second})
	s.rec.strike(a.lane, "its extension arrives")
	letGo()
	b.findsFree(maxTTL)
}
