package lab

import (
	"context"
	"time"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

var masterFaults = []Fault{{
	ID: "master-down", Title: "a master is killed, and stays down", Short: true, run: masterDown,
	Words: "A takes the lock on all masters. One is killed, and does not come back; where it has a replica, that takes its place with all that it had. B wants the lock, and A lets go.",
}, {
	ID: "restart-empty", Title: "a master is killed, and restarts empty", Short: true, run: restartEmpty,
	Words: "A takes the lock. The master that decides between A and B is killed and comes back at once, with nothing. B wants the lock while A has it.",
}, {
	ID: "kill-aof", Title: "a master is killed, and restarts with its file (appendfsync everysec)", options: aof("everysec"), run: restart,
	Words: "A takes the lock. The master is killed by kill -9 and restarts with its append-only file, which the system has kept. B wants the lock while A has it.",
}, {
	ID: "power-everysec", Title: "a master loses power (appendfsync everysec)", options: aof("everysec"), run: powerLoss,
	Words: "A takes the lock. The master loses power, and with it what its append-only file got since it was last forced to disk: in the worst case, which this is, all that came since A's lock. It restarts, and B wants the lock while A has it.",
}, {
	ID: "power-always", Title: "a master loses power (appendfsync always)", options: aof("always"), run: restart,
	Words: "The same, with a file that is forced to disk before each answer: there is nothing that could be lost, so nothing is cut off.",
}, {
	ID: "two-down", Title: "two of five masters are down", run: twoDown,
	Words: "Two of five masters are dead. A takes the lock, B wants it, A lets go.",
}, {
	ID: "three-down", Title: "three of five masters are down", run: threeDown,
	Words: "Three of five masters are dead. B wants the lock.",
}, {
	ID: "three-empty", Title: "three of five masters restart empty at once", run: threeEmpty,
	Words: "A takes the lock. A majority of the masters is killed and comes back with nothing. B wants the lock while A has it.",
}, {
	ID: "failover", Title: "a master dies before its replica has the key, and the replica takes over", Short: true, deploy: (*stage).follow, run: failover,
	Words: "A takes the lock on a master whose asynchronous replica lags. The master dies, and the replica takes its place. B wants the lock while A has it. (Of five masters one is such a pair.)",
}, {
	ID: "flushall", Title: "FLUSHALL on a master", run: flush,
	Words: "A takes the lock. Somebody flushes the master that decides between A and B. B wants the lock while A has it.",
}, {
	ID: "master-stopped", Title: "a master stands still", run: masterStopped,
	Words: "A master is stopped for longer than a lease: it takes what is sent, and does not answer. B wants the lock meanwhile; no replica is promoted.",
}}

func aof(fsync string) func(*stage) []redistest.Option {
	return func(*stage) []redistest.Option {
		// A file that is rewritten would bring back what was to be cut off.
		return []redistest.Option{redistest.AOF(fsync), redistest.Args("--auto-aof-rewrite-percentage", "0")}
	}
}

func masterDown(s *stage) {
	a, b := s.together()
	if !a.begins(maxTTL) {
		return
	}
	m := s.struck()
	if s.replica != nil {
		m.look.Wait(context.Background(), 1, time.Second)
	}
	s.strike(m, "is killed", m.Kill)
	if s.replica != nil {
		s.failOver()
	}
	s.contest(a, b, chance)
}

// forgets has A take the lock, a fault strike the master that decides, and B want the lock.
// How must see to it that the fault did to the key what it was to do.
func (s *stage) forgets(what string, how func(m *master)) {
	a, b := s.rivals()
	if !a.begins(maxTTL) {
		return
	}
	if s.leftover() == nil {
		s.Fatal("A has the lock without a key on the master that decides")
	}
	s.forgot = true
	s.strike(s.struck(), what, func() { how(s.struck()) })
	s.contest(a, b, chance)
}

// mustBeGone ends a cell in which the struck master still has the key, and mustBeBack one in
// which it has not.
func (s *stage) mustBeGone() {
	if s.leftover() != nil {
		s.Fatal("the master still has the key")
	}
}

func (s *stage) mustBeBack() {
	if s.leftover() == nil {
		s.Fatal("the master has lost the key")
	}
}

func restartEmpty(s *stage) {
	s.forgets("is killed, and restarts empty", func(m *master) {
		m.RestartEmpty()
		s.mustBeGone()
	})
}

func restart(s *stage) {
	s.forgets("is killed, and restarts with its file", func(m *master) {
		m.Restart()
		s.mustBeBack()
	})
}

func powerLoss(s *stage) {
	before := s.struck().Written()
	s.forgets("loses power, and the end of its file", func(m *master) {
		m.RestartCut(before)
		s.mustBeGone()
	})
}

func flush(s *stage) {
	s.forgets("is flushed", func(m *master) {
		m.FlushAll()
		s.mustBeGone()
	})
}

func failover(s *stage) {
	s.lag.LoseReplies()
	s.forgets("is killed, before its replica has the key", func(m *master) {
		m.Kill()
		s.failOver()
		if keyOn(s.replica.Client(), m.lane) != nil {
			s.Fatal("the replica has the key")
		}
	})
}

func twoDown(s *stage) {
	for _, m := range s.masters[3:] {
		s.strike(m, "is killed", m.Kill)
	}
	a, b := s.together()
	if a.begins(maxTTL) {
		s.contest(a, b, chance)
	}
}

func threeDown(s *stage) {
	for _, m := range s.masters[2:] {
		s.strike(m, "is killed", m.Kill)
	}
	b := s.client("B", s.masters)
	b.takes()
}

func threeEmpty(s *stage) {
	a, b := s.rivals()
	if !a.begins(maxTTL) {
		return
	}
	for _, m := range s.masters[2:] {
		s.strike(m, "is killed, and restarts empty", m.RestartEmpty)
	}
	s.contest(a, b, chance)
}

func masterStopped(s *stage) {
	m := s.struck()
	s.strike(m, "stands still", m.Stop)
	b := s.client("B", s.masters)
	if b.wants(maxTTL, maxTTL+grace).granted() {
		b.lets()
	}
}
