package redlock

import (
	"slices"
	"sync"

	"github.com/quorumlock/redlock-go/redlock/master"
)

// lines are who in this process waits for which name, and who in this process holds it.
// The first of each line contends for all of it: the others cost the masters nothing.
type lines struct {
	masters []*master.Master
	prefix  string

	mu     sync.Mutex // guards what follows
	byName map[string]*line
	tidyAt int // lines there may be before those are looked for that nobody needs
}

// minTidy is a number of lines that is not worth tidying.
const minTidy = 1 << 10

// line is who waits for one name, first come first served.
type line struct {
	waiting []*ticket // the first is the one whose turn it is
	holder  *hold     // of this process; nil if none
	others  bool      // other processes wait too, by what the last release was told
	ear     *ear      // of the line, once its first was refused; nil before
}

// ticket is a place in a line.
type ticket struct {
	turn chan struct{} // closed when it is the first
}

// join puts a new ticket at the end of name's line.
func (ls *lines) join(name string) *ticket {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	t := &ticket{turn: make(chan struct{})}
	l := ls.line(name)
	l.waiting = append(l.waiting, t)
	if l.waiting[0] == t {
		close(t.turn)
	}
	return t
}

// line returns the line of name. The caller holds mu.
func (ls *lines) line(name string) *line {
	l := ls.byName[name]
	if l == nil {
		if ls.byName == nil {
			ls.byName = map[string]*line{}
		}
		l = &line{}
		ls.byName[name] = l
	}
	return l
}

// leave takes a ticket out of the line, and lets the next one have its turn.
func (ls *lines) leave(name string, t *ticket) {
	ls.mu.Lock()
	l := ls.byName[name]
	i := slices.Index(l.waiting, t)
	l.waiting = slices.Delete(l.waiting, i, i+1)
	var deaf *ear
	if len(l.waiting) == 0 {
		deaf, l.ear = l.ear, nil
	} else if i == 0 {
		close(l.waiting[0].turn)
	}
	ls.tidy(name, l)
	ls.mu.Unlock()
	if deaf != nil {
		deaf.close()
	}
}

// tidy forgets a line of nobody. The caller holds mu.
func (ls *lines) tidy(name string, l *line) {
	if len(l.waiting) == 0 && l.holder == nil {
		delete(ls.byName, name)
	}
}

// held notes that h is held by this process: who waits here need not ask the masters.
func (ls *lines) held(h *hold) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, name := range h.names {
		ls.line(name).holder = h
	}
	if len(ls.byName) > max(ls.tidyAt, minTidy) {
		for name, l := range ls.byName {
			if l.holder != nil && l.holder.remaining() == 0 { // it was never released
				l.holder = nil
			}
			ls.tidy(name, l)
		}
		ls.tidyAt = 2 * len(ls.byName)
	}
}

// all returns what is held by this process.
func (ls *lines) all() []*hold {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all []*hold
	for _, l := range ls.byName {
		if l.holder != nil && !slices.Contains(all, l.holder) {
			all = append(all, l.holder)
		}
	}
	return all
}

// ended notes that h was released, and that this is on its way: what is sent to the
// masters from now on comes after it.
func (ls *lines) ended(h *hold) {
	ls.remove(h)
	close(h.freed)
}

// remove notes that h is in nobody's way any more.
func (ls *lines) remove(h *hold) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, name := range h.names {
		if l := ls.byName[name]; l != nil && l.holder == h {
			l.holder = nil
			ls.tidy(name, l)
		}
	}
}

// told notes how many connections heard of a release: this process has one of these,
// if it listens itself.
func (ls *lines) told(names []string, count int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, name := range names {
		if l := ls.byName[name]; l != nil {
			own := 0
			if l.ear != nil {
				own = 1
			}
			l.others = count > own
		}
	}
}

// holder returns the hold of this process that is in the way of name, if there is one,
// and whether other processes wait for the name too.
func (ls *lines) holder(name string) (h *hold, others bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byName[name]
	return l.holder, l.others
}

// ears returns the ears that the lines of names have. They nudge the caller, who is the
// first in all of these lines, from now on.
func (ls *lines) ears(names []string, nudge chan<- struct{}) []*ear {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var all []*ear
	for _, name := range names {
		if e := ls.byName[name].ear; e != nil {
			e.nudgeFrom(nudge)
			all = append(all, e)
		}
	}
	return all
}

// listen is ears for who was refused: lines that had no ear get one.
func (ls *lines) listen(names []string, nudge chan<- struct{}) []*ear {
	ls.mu.Lock()
	for _, name := range names {
		if l := ls.byName[name]; l.ear == nil {
			l.ear = newEar(ls.masters, ls.prefix+name)
		}
	}
	ls.mu.Unlock()
	return ls.ears(names, nudge)
}

// ear hears when a key is freed on the masters. Counting is what makes sure that no
// news is lost between an attempt and the sleep after it.
type ear struct {
	masters []*master.Master
	key     string

	mu    sync.Mutex // guards what follows
	news  []uint64   // by master: how often there was some
	nudge chan<- struct{}
}

func newEar(masters []*master.Master, key string) *ear {
	e := &ear{masters: masters, key: key, news: make([]uint64, len(masters))}
	for i, m := range masters {
		m.Listen(key, func() { e.hear(i) })
	}
	return e
}

func (e *ear) hear(master int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.news[master]++
	select {
	case e.nudge <- struct{}{}:
	default: // also where there is no first to nudge
	}
}

func (e *ear) nudgeFrom(nudge chan<- struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nudge = nudge
}

// addTo adds how much news there was to sum.
func (e *ear) addTo(sum []uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, n := range e.news {
		sum[i] += n
	}
}

func (e *ear) close() {
	for _, m := range e.masters {
		m.Unlisten(e.key)
	}
}
