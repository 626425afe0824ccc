package tenurecheck

// Faults is a set of what may happen to masters.
type Faults uint16

// One of these is what happens to one master.
const (
	RestartEmpty Faults = 1 << iota // a new process, nothing remembered
	Restart                         // a new process, with all its data but the keys
	RestartCut                      // a new process, with what the disk had kept
	Flush                           // FLUSHALL: the same process, nothing remembered
	Promote                         // a replica takes the address; the old master lives on behind open connections
	Demote                          // demoted and promoted again: same process and connections, new history, keys lost
	DemoteCut                       // the same, with the data of long ago
	ClockStep                       // the clock steps, keys expire, clients see it
)

// faultSteps are what may happen to the masters.
func (m *model) faultSteps(s *state) {
	if int(s.faults) >= m.Most {
		return
	}
	for p := range s.procs {
		if s.procs[p].alive == 0 || !m.first(s, p) {
			continue
		}
		m.copySteps(s, p)
		m.forgetSteps(s, p)
		m.restartSteps(s, p)
	}
}

// first breaks the symmetry between seats: nothing distinguishes them before the first
// fault, unless one is to be moved.
func (m *model) first(s *state, p int) bool {
	return m.Moves || m.Ruins > 0 || s.faults > 0 || s.copied.of != 0 || p == seats-1
}

// copySteps have a replica or a disk copy a process, for later.
func (m *model) copySteps(s *state, p int) {
	if m.Faults&(RestartCut|Promote|DemoteCut) == 0 || s.copied.of != 0 {
		return
	}
	t := *s
	t.copied = copied{of: uint8(p + 1), record: s.procs[p].record, key: s.procs[p].key}
	m.say("this much of %s is copied", m.name(s, p))
	m.visit(&t)
}

// forgetSteps are faults that leave the process and its connections as they are.
func (m *model) forgetSteps(s *state, p int) {
	fault := func(what string, f func(t *state, proc *process)) {
		t := *s
		t.faults++
		proc := &t.procs[p]
		proc.key, proc.lost = 0, m.going(&t)
		f(&t, proc)
		m.say("%s %s", m.name(s, p), what)
		m.visit(&t)
	}
	if m.Faults&Flush != 0 {
		fault("is flushed", func(_ *state, proc *process) { proc.record = record{} })
	}
	if m.Faults&ClockStep != 0 && s.procs[p].tenured() {
		fault("steps its clock: keys are lost, clients see it", func(_ *state, proc *process) { proc.doubt = 1 })
	}
	if m.Faults&Demote != 0 {
		fault("is demoted and promoted again, keys are lost", func(_ *state, proc *process) { proc.id = s.identity() })
	}
	if m.Faults&DemoteCut != 0 && s.copied.of == uint8(p+1) {
		fault("is demoted and promoted again, with what was copied", func(t *state, proc *process) {
			proc.id = s.identity()
			proc.record, proc.key = t.copied.record, t.copied.key
			t.copied = copied{}
		})
	}
}

// identity returns one that nothing in the state speaks of.
func (s *state) identity() uint8 {
	var used names
	used.none()
	s.identities(&used)
	return used.unused()
}

// restartSteps are faults that put a new process in a process' place.
func (m *model) restartSteps(s *state, p int) {
	if s.procs[p].now == 0 {
		return
	}
	cut := s.copied.of == uint8(p+1)
	if m.Faults&RestartEmpty != 0 {
		m.restart(s, p, copied{}, "restarts empty")
	}
	if m.Faults&Restart != 0 {
		m.restart(s, p, copied{record: s.procs[p].record}, "restarts with its data")
	}
	if m.Faults&RestartCut != 0 && cut {
		m.restart(s, p, s.copied, "restarts with what was copied")
	}
	if free := s.free(); m.Faults&Promote != 0 && cut && free >= 0 && (m.Split || !s.promoted() || s.others(p) >= majority) {
		t := *s
		t.faults++
		t.copied = copied{}
		t.procs[p].now = 0
		t.procs[free] = process{
			alive: 1, now: 1, id: s.identity(), addr: s.procs[p].addr,
			record: s.copied.record, key: s.copied.key, lost: m.going(&t),
		}
		m.say("%s is failed over to its replica, but goes on", m.name(s, p))
		m.visit(&t)
	}
}

func (m *model) restart(s *state, p int, from copied, what string) {
	t := *s
	t.faults++
	if from.of != 0 {
		t.copied = copied{}
	}
	proc := &t.procs[p]
	proc.record, proc.key, proc.doubt = from.record, from.key, 0
	proc.id, proc.lost = s.identity(), m.going(&t)
	for i := range t.locks {
		t.unanswered(i, p)
	}
	m.say("%s %s", m.name(s, p), what)
	m.visit(&t)
}

// unanswered drops the votes whose tails can't come any more.
func (s *state) unanswered(i, p int) {
	for slot, v := range s.locks[i].votes {
		if v.stage == 1 && int(v.proc) == p {
			s.locks[i].votes[slot] = vote{}
		}
	}
}

func (s *state) free() int {
	for i := range s.procs {
		if s.procs[i].alive == 0 {
			return i
		}
	}
	return -1
}

func (s *state) promoted() bool {
	for i := range s.procs {
		if s.procs[i].alive != 0 && s.procs[i].now == 0 {
			return true
		}
	}
	return false
}

// others returns how many of the masters that are reached now have tenure, without p.
func (s *state) others(p int) int {
	n := 0
	for i := range s.procs {
		if i != p && s.procs[i].now != 0 && s.procs[i].tenured() {
			n++
		}
	}
	return n
}
