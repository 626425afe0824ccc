package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/redlock"
)

// status is how a process ended.
type status struct {
	code   int
	signal os.Signal // nil if none ended it
}

// event is what happened to the command itself: it ended, or a signal stopped it.
type event struct {
	ended   *status
	stopped os.Signal
}

const (
	look     = 5 * time.Millisecond // how often a group that is to end is looked at
	patience = 3 * time.Second      // how long KILL may take to show
)

// watch sees to it that the command's group is gone before the lock is. Its methods
// are called from one goroutine, which never waits for the network.
type watch struct {
	*job
	lease *redlock.Lease
	group *group

	status *status       // how the command itself ended; nil while it runs
	lost   error         // why the lock could not be kept
	told   bool          // that was printed
	low    chan struct{} // closed when the lease comes to its end
	ending *time.Ticker  // runs while the group is to end
	killAt clock.Instant // of a group that is to end
	killed clock.Instant // when KILL was first sent

	immortal bool // that it did not help was told
}

// start starts the command, if there is time enough left for it.
func (w *watch) start() error {
	if w.lease.Remaining() <= w.reserve() {
		return &exitError{code: w.conflict, outcome: notAcquired,
			err: fmt.Errorf("run %q: the lock came too late in its ttl of %v to start the command", w.name, w.ttl)}
	}
	var err error
	w.group, err = startGroup(w.path, w.argv, w.environment(w.lease), w.in, w.out, w.err)
	if err != nil {
		return w.cannotStart(err)
	}
	listenToStops(w.signals)
	w.low = make(chan struct{})
	go func() {
		defer close(w.low)
		ebb(w.lease, w.reserve())
	}()
	w.detail("run %q: started %s, process %d", w.name, w.path, w.group.pid)
	return nil
}

// reserve is what must be left of the lease when the ending begins.
func (w *watch) reserve() time.Duration {
	switch w.onLost {
	case warn:
		return 0
	case kill:
		return safety(w.ttl)
	default:
		return w.grace + safety(w.ttl)
	}
}

// ebb returns when no more than reserve is left of a lease, however often that is
// extended meanwhile.
func ebb(lease *redlock.Lease, reserve time.Duration) {
	for left := lease.Remaining(); left > reserve; left = lease.Remaining() {
		_ = clock.Sleep(lease.Context(), clock.System, clock.System.Now().Add(left-reserve))
	}
}

// untilGone returns when no process of the group is left.
func (w *watch) untilGone() {
	w.ending = time.NewTicker(time.Hour)
	defer w.ending.Stop()
	for w.status == nil || !w.group.gone() {
		select {
		case s := <-w.signals:
			w.onSignal(s)
		case e := <-w.group.events:
			w.onEvent(e)
		case <-w.low:
			w.low = nil
			w.onLow()
		case <-w.ending.C:
			w.press()
		}
	}
	w.group.giveBackTerminal()
}

// onSignal does what a signal to this process asks for.
func (w *watch) onSignal(s os.Signal) {
	switch {
	case isStop(s):
		// All of it first: nobody keeps the lock while this process is stopped.
		w.group.stop()
		stopSelf()
	case isContinue(s):
		if w.onLost != warn && w.lease.Remaining() <= w.reserve() {
			w.onLow()
			return
		}
		w.group.resume()
	default:
		w.detail("run %q: passing on signal %d (%v)", w.name, number(s), s)
		w.group.signal(s)
	}
}

func (w *watch) onEvent(e event) {
	if e.stopped != nil {
		w.group.onStop(e.stopped, w.signals)
		return
	}
	w.status = e.ended
	if !w.group.gone() {
		w.detail("run %q: the command has ended and left others behind", w.name)
		w.end(w.grace)
	}
}

// onLow begins the end: the lock can't be kept.
func (w *watch) onLow() {
	if w.status != nil || w.lost != nil {
		return // it is ending already
	}
	w.lost = w.reason()
	switch w.onLost {
	case warn:
		w.story.tell(w.lost.Error())
		w.told = true
	case kill:
		w.end(0)
	default:
		w.end(w.grace)
	}
}

// end asks the group to end, within grace.
func (w *watch) end(grace time.Duration) {
	if w.killAt == 0 {
		w.killAt = clock.System.Now().Add(grace)
		w.ending.Reset(look)
	}
	if grace > 0 && !w.late() {
		w.group.terminate()
	}
	w.press()
}

// press kills the group when its time is over.
func (w *watch) press() {
	if w.killAt != 0 && (!clock.System.Now().Before(w.killAt) || w.late()) {
		w.group.kill()
		w.complain()
	}
}

// complain tells of a group that KILL did not end, once. The lock is not let go all
// the same: what hangs in the kernel, or took other rights, may still be at work.
func (w *watch) complain() {
	switch now := clock.System.Now(); {
	case w.killed == 0:
		w.killed = now
	case !w.immortal && now.Sub(w.killed) > patience:
		w.immortal = true
		w.story.tell(fmt.Sprintf("run %q: waiting for processes of group %d, which KILL did not end", w.name, w.group.pid))
	}
}

// late reports whether there is no time left to be polite.
func (w *watch) late() bool {
	return w.onLost != warn && w.lease.Remaining() <= safety(w.ttl)
}

// reason returns why the lock can't be kept, with what the masters said since it was
// last extended.
func (w *watch) reason() error {
	why := "could not be extended in time"
	switch cause := context.Cause(w.lease.Context()); {
	case errors.Is(cause, redlock.ErrNotHeld):
		why = "was taken away"
	case cause != nil || !w.lease.Valid():
		why = "expired"
	}
	votes := w.ledger.read(w.cluster.names)
	if votes == nil {
		why += ", with no answer from any master (did this process, or the machine, stop?)"
	}
	return w.lostBecause(why, votes)
}

func (w *watch) lostBecause(why string, votes []redlock.Vote) error {
	then := "the command is ended"
	switch {
	case w.status != nil:
		then = "the command had run under it"
	case w.onLost == warn:
		then = "the command goes on"
	}
	return &redlock.Error{Op: "run", Name: w.name, Err: fmt.Errorf("the lock %s, and %s", why, then), Votes: votes}
}

// released takes what the masters said of the release.
func (w *watch) released(err error) {
	if err == nil || w.lost != nil {
		return
	}
	e, ok := errors.AsType[*redlock.Error](err)
	if ok && (errors.Is(err, redlock.ErrNotHeld) || errors.Is(err, redlock.ErrExpired)) {
		w.lost = w.lostBecause("was taken away", e.Votes)
		return
	}
	w.note("%v; what is left there ends within %v", err, w.ttl+clock.Grace)
}

// conclude is how it all ended.
func (w *watch) conclude() error {
	w.report.CommandCode = &w.status.code
	w.report.Signal = number(w.status.signal)
	switch {
	case w.lost != nil:
		if e, ok := errors.AsType[*redlock.Error](w.lost); ok {
			w.report.votes(e.Votes)
		}
		return &exitError{code: exitLost, outcome: lost, err: w.lost, told: w.told}
	case w.status.signal != nil:
		return &exitError{code: w.status.code, outcome: signalled,
			err: fmt.Errorf("run %q: signal %d (%v) ended the command", w.name, number(w.status.signal), w.status.signal)}
	case w.status.code != 0:
		return &exitError{code: w.status.code, outcome: ended}
	}
	return nil
}
