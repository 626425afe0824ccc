package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/quorumlock/redlock-go/clock"
)

// world is one run. Its time is the true one, which nobody in it can read.
type world struct {
	Config
	plan
	chance  *rand.Rand
	now     clock.Instant
	queue   events
	seq     uint64
	hash    uint64
	hosts   []*host
	clients []*client
	ids     uint64
	judge   judge
	result  Result
	healed  bool // there are no faults any more
	over    bool // nobody begins anything any more
}

// event is something that happens at an instant; of several, in the order of their seq.
type event struct {
	at  clock.Instant
	seq uint64
	do  func()
}

// events is a heap. (container/heap would make an allocation of each event.)
type events []event

func (e events) before(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}

func (e *events) push(x event) {
	*e = append(*e, x)
	q := *e
	for i := len(q) - 1; i > 0 && q.before(i, (i-1)/2); i = (i - 1) / 2 {
		q[i], q[(i-1)/2] = q[(i-1)/2], q[i]
	}
}

func (e *events) pop() event {
	q := *e
	first, last := q[0], len(q)-1
	q[0] = q[last]
	q[last] = event{}
	q = q[:last]
	*e = q
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(q); child++ {
			if q.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}

// at has something happen at t, or now if that is over.
func (w *world) at(t clock.Instant, do func()) {
	w.seq++
	w.queue.push(event{max(t, w.now), w.seq, do})
}

func (w *world) after(d time.Duration, do func()) { w.at(w.now.Add(d), do) }

// runUntil lets everything happen that happens before t.
func (w *world) runUntil(t clock.Instant) {
	for len(w.queue) > 0 && w.queue[0].at < t && !w.result.failed() {
		e := w.queue.pop()
		w.now = e.at
		e.do()
	}
	w.now = max(w.now, t)
}

// note takes an event into the hash of the run.
func (w *world) note(what byte, who, which int, no uint64) {
	for _, v := range [...]uint64{uint64(w.now), uint64(what)<<32 | uint64(who)<<16 | uint64(which), no} {
		w.hash = (w.hash ^ v) * 0x100000001b3
		w.hash ^= w.hash >> 29
	}
}

// tell adds to the story of the run, if that is wanted.
func (w *world) tell(format string, args ...any) {
	if w.Tell {
		w.result.Story = append(w.result.Story, fmt.Sprintf("%9.3f s  ", time.Duration(w.now).Seconds())+fmt.Sprintf(format, args...))
	}
}

func (w *world) id() uint64 { w.ids++; return w.ids }

func (w *world) happens(percent int) bool { return percent > 0 && w.chance.IntN(100) < percent }

func (w *world) upTo(d time.Duration) time.Duration {
	return time.Duration(w.chance.Int64N(int64(d) + 1))
}

func (w *world) between(a, b time.Duration) time.Duration { return a + w.upTo(b-a) }

// process returns the name of a new process of a master.
func (w *world) process() string { return "run" + strconv.FormatUint(w.id(), 10) + "+history" }
