package lab

import (
	"context"
	"time"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

var setupFaults = []Fault{{
	ID: "eviction", Title: "the masters evict keys when memory is short (volatile-lru)", options: evicting, run: eviction,
	Words: "The masters may evict keys that have an end. A takes the lock, memory gets short for a moment on the one that decides, and B wants the lock while A has it.",
}, {
	ID: "one-master-twice", Title: "two addresses come to lead to one master", run: oneMasterTwice,
	Words: "A takes the lock on the first three masters. Then, for A, the address of the second leads to the third, as by a mistake in DNS. A extends: three addresses agree, but only two masters do. B wants the lock on the second, the fourth and the fifth.",
}, {
	ID: "other-list", Title: "two clients have different lists of masters", run: otherList,
	Words: "A takes the lock, with five masters in its list. B's list has only the last three of them.",
}, {
	ID: "writable-replica", Title: "a master is a writable replica of another one", deploy: makeReplica, run: writableReplica,
	Words: "The master that decides between A and B follows another one, and takes writes of its own. A takes the lock. The other one restarts, the replica becomes a copy of it again, and A's key is gone. B wants the lock while A has it.",
}}

func evicting(*stage) []redistest.Option {
	return []redistest.Option{redistest.Args("--maxmemory-policy", "volatile-lru", "--maxmemory", "200mb")}
}

func eviction(s *stage) {
	s.forgets("is short of memory for a moment", func(m *master) {
		ctx := context.Background()
		if err := m.look.ConfigSet(ctx, "maxmemory", "1mb").Err(); err != nil {
			s.Fatal(err)
		}
		for range 20 {
			_ = m.look.Set(ctx, "filler", "x", 0).Err() // refused, once nothing is left to evict
		}
		if err := m.look.ConfigSet(ctx, "maxmemory", "200mb").Err(); err != nil {
			s.Fatal(err)
		}
		if l := s.leftover(); l != nil && l.Ends >= 0 { // what never ends is not evicted
			s.Fatal("the key was not evicted")
		}
	})
}

func oneMasterTwice(s *stage) {
	a, b := s.client("A", s.masters, 1, 2, 3), s.client("B", s.masters, 2, 4, 5)
	if !a.begins(maxTTL) {
		return
	}
	s.strike(s.masters[1], "for A, its address leads to master 3", func() {
		a.fronts[1].Lead(s.masters[2].addr)
		a.fronts[1].Cut()
	})
	time.Sleep(maxTTL / 2)
	a.do(order{Do: extend, Timeout: maxTTL / 4})
	s.forgot = true // the second master never hears of A's release
	s.contest(a, b, maxTTL)
}

func otherList(s *stage) {
	a, b := s.client("A", s.masters, 1, 2, 3), s.client("B", s.masters[2:])
	if a.begins(maxTTL) {
		s.rec.strike(b.lane, "its list has only masters 3, 4 and 5")
		s.contest(a, b, chance)
	}
}

func makeReplica(s *stage) {
	m := s.struck()
	s.upstream = redistest.Start(s, 1, quickly()...)[0]
	if err := m.look.ConfigSet(context.Background(), "replica-read-only", "no").Err(); err != nil {
		s.Fatal(err)
	}
	m.Follow(s.upstream)
}

func writableReplica(s *stage) {
	s.forgets("becomes a copy of the one that it follows", func(m *master) {
		s.upstream.Restart()
		m.Follow(s.upstream)
		s.mustBeGone()
	})
}
