package lab

import (
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

var clockFaults = []Fault{{
	ID: "clock-ahead", Title: "a master's clock steps ahead by an hour", Short: true, options: wallClock, run: clockAhead,
	Words: "A takes the lock. The clock of the master that decides between A and B steps ahead by an hour, and all that was to end within the hour has ended. B wants the lock while A has it.",
}, {
	ID: "clock-back", Title: "a master's clock steps back by an hour", options: wallClock, run: clockBack,
	Words: "A takes the lock. A master's clock steps back by an hour, and what was to end soon ends in an hour. A dies, and B wants the lock.",
}, {
	ID: "wall-clock", Title: "the holder's wall clock is set back by an hour", inside: true, run: wallClockBack,
	Words: "A takes the lock and works for as long as its lease is valid, or for half of its ttl where it knows no end. Its wall clock is set back by an hour, by which libraries go that know no other clock. (Ours reads none.) B wants the lock.",
}, {
	ID: "suspend", Title: "the holder's machine is suspended past the lease", Short: true, inside: true, run: suspend,
	Words: "A takes the lock, and its machine is suspended for longer than the lease. The monotonic clock that most libraries go by has stood still meanwhile, so that A may believe in its lease when it wakes up. (Ours reads one that goes on.) B wants the lock.",
}}

func wallClock(s *stage) []redistest.Option { return []redistest.Option{redistest.WallClock(s)} }

func clockAhead(s *stage) {
	s.forgets("its clock steps ahead by an hour", func(m *master) {
		m.StepClock(time.Hour)
		if l := s.leftover(); l != nil && l.Ends >= 0 { // what never ends stays
			s.Fatal("the key has not ended")
		}
	})
}

func clockBack(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	m := s.struck()
	s.strike(m, "its clock steps back by an hour", func() { m.StepClock(-time.Hour) })
	a.kill()
	if b.takes() {
		b.lets()
	}
}

func wallClockBack(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	if s.design.ours {
		s.rec.strike(a.lane, "its wall clock is set back by an hour, which it does not read")
	} else {
		s.rec.strike(a.lane, "its wall clock is set back by an hour")
		a.do(order{Do: shift, By: -time.Hour})
	}
	w := b.wants(maxTTL, passed+prompt)
	if a.do(order{Do: check}).Until == clock.Never {
		w.within(short / 2)
	} else {
		w.within(passed)
	}
	a.lets()
	if w.granted() {
		b.lets()
	}
}

func suspend(s *stage) {
	a, b := s.together()
	if !a.begins(short) {
		return
	}
	asleep := clock.System.Now()
	a.stop()
	w := b.wants(maxTTL, passed+prompt)
	w.within(passed)
	a.order(order{Do: shift, By: asleep.Sub(clock.System.Now())})
	a.goOn()
	a.answer()
	a.do(order{Do: check})
	s.apart()
	a.lets()
	if w.granted() {
		b.lets()
	}
}
