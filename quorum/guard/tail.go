package guard

import (
	"fmt"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Tail is what a master said of itself at the end of a batch: after it had executed the
// rest, so that it remembered all of that.
type Tail struct {
	Process string         // run_id+replid: this process, and this history
	Record  *tenure.Record // shared, never written
	Text    string         // of the record, as the master stores it
	Time    tenure.Time
	Asked   clock.Instant
	Dialled bool // the connection was made for this question

	Offset quorum.Offset // of its clock, to the client's
	Sight  quorum.Sight  // what that tells
	Step   time.Duration // how far the clock was provably stepped, at least
	Again  bool          // so did the look before it, which was over before this one began
	Whole  bool          // the clock was watched for a whole span

	watch uint64 // which watch of the clock the sight is of
}

// Reply returns the tail as the protocol of tenure takes it.
func (t *Tail) Reply() tenure.Reply {
	return tenure.Reply{Heard: true, Process: t.Process, Time: t.Time, Record: *t.Record, Dialled: t.Dialled}
}

// Tenure names the tenure that the master has; "" if it has none. It is another one each
// time that the master may have forgotten what it granted.
func (t *Tail) Tenure() string {
	if t.Record == nil || !t.Record.Tenured(t.Process) {
		return ""
	}
	return fmt.Sprint(t.Record.Group, " ", t.Record.Term(), " ", t.Process)
}

// Covers reports whether a fence that came with the vote was given in the tenure that the tail
// tells of, which comes after it: one from before knows nothing of what others had counted up
// to. Numbers in a tenure are above its floor. (One from before that is, too, does no harm.)
func (t *Tail) Covers(fence uint64) bool { return fence > t.Record.Floor }

// Span is over which time a client watches clocks: that of the longest key.
func Span(maxTTL time.Duration) time.Duration { return maxTTL + clock.Grace }

// Watch is what one client knows of one master's clock, from tail to tail. It is not safe
// for concurrent use.
type Watch struct {
	clock   *quorum.Watch
	process string
	record  *tenure.Record // as it was seen last
	tenure  string         // that it had last
	begun   uint64         // how often it was begun anew
	stepped bool           // as the last look showed
	over    clock.Instant
}

// NewWatch returns a watch on the clock of a master of keys that live for span.
func NewWatch(span time.Duration) *Watch {
	return &Watch{clock: quorum.NewWatch(span, clock.Tolerance)}
}

// See fills in what a tail, which was received at now, tells of the master's clock.
func (w *Watch) See(t *Tail, now clock.Instant) {
	if w.isArmedAnew(t) || t.Process != w.process || w.clock.Lapsed(now) {
		w.process = t.Process
		w.Forget()
	}
	t.Offset = quorum.NewOffset(time.Duration(t.Time)*time.Microsecond, t.Asked, now)
	t.Sight, t.Step = w.clock.Look(t.Offset, now)
	t.Whole = t.Sight == quorum.Steady && w.clock.Whole(now)
	t.watch = w.begun
	t.Again = t.Sight == quorum.Stepped && w.stepped && w.over.Before(t.Asked)
	w.stepped, w.over = t.Sight == quorum.Stepped, now
}

// isArmedAnew reports whether a master was given another tenure since it was seen last. Then
// it makes no difference any more whether its clock was stepped before that: all that it had
// granted is over, and its skew was written down anew.
func (w *Watch) isArmedAnew(t *Tail) bool {
	if t.Record == w.record {
		return false
	}
	w.record = t.Record
	tenure := t.Tenure()
	if tenure == "" || tenure == w.tenure {
		return false
	}
	w.tenure = tenure
	return true
}

// Trust says that others found the clock to be right when it was looked at with t. What was
// learned since is held against that look, unless the watch was begun anew.
func (w *Watch) Trust(t *Tail) {
	if w.begun == t.watch {
		w.clock.Trust()
	}
}

// Forget begins the watch anew.
func (w *Watch) Forget() {
	w.clock.Forget()
	w.begun++
	w.stepped = false
}
