package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

// signalError is a signal that ended the wait for the lock.
type signalError struct{ os.Signal }

func (e signalError) Error() string {
	return fmt.Sprintf("signal %d (%v) came before the command was started", number(e.Signal), e.Signal)
}

// acquire takes the lock. A signal ends the wait; nothing is left on the masters then.
func (j *job) acquire(ctx context.Context) (*redlock.Lease, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var lease *redlock.Lease
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		lease, err = j.lock(ctx)
	}()
	for {
		select {
		case s := <-j.signals:
			if endsWait(s) {
				cancel(signalError{s})
			}
		case <-done:
			if context.Cause(ctx) == nil {
				return lease, err
			}
			_ = lease.Release(ctx) // nil, unless the lock and the signal came at once
			return nil, j.because(context.Cause(ctx), err)
		}
	}
}

// lock tries once, and then waits for as long as it may.
func (j *job) lock(ctx context.Context) (*redlock.Lease, error) {
	began := clock.System.Now()
	lease, first := j.cluster.TryLock(ctx, j.name, j.ttl)
	if first == nil || j.once || !mayPass(first) {
		return lease, first
	}
	j.note("waiting for %q: %s", j.name, j.obstacle(first))
	if j.waitSet {
		left := j.wait - clock.System.Now().Sub(began)
		if left <= 0 {
			return nil, j.because(j.tooLong(), first)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	lease, err := j.cluster.Lock(ctx, j.name, j.ttl)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) {
		return lease, err
	}
	if !mayPass(err) { // it ended amid the first attempt, which says nothing else
		err = first
	}
	return nil, j.because(j.tooLong(), err)
}

func (j *job) tooLong() error {
	return fmt.Errorf("not acquired within %v", j.wait)
}

// mayPass reports whether waiting can help.
func mayPass(err error) bool {
	return errors.Is(err, redlock.ErrHeld) || errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrExpired)
}

// because puts why before what stood in the way.
func (j *job) because(why, err error) error {
	e, ok := errors.AsType[*redlock.Error](err)
	if !ok {
		return &redlock.Error{Op: "lock", Name: j.name, Err: why}
	}
	if stood := obstacleOf(e.Err); stood != nil {
		why = fmt.Errorf("%w: %w", why, stood)
	}
	return &redlock.Error{Op: e.Op, Name: e.Name, Err: why, Votes: e.Votes}
}

// obstacleOf returns which of the reasons that may pass err is.
func obstacleOf(err error) error {
	for _, reason := range []error{redlock.ErrHeld, redlock.ErrNoQuorum, redlock.ErrExpired} {
		if errors.Is(err, reason) {
			return reason
		}
	}
	return nil
}

// obstacle says what is waited for: the holder's end, or masters.
func (j *job) obstacle(err error) string {
	e, ok := errors.AsType[*redlock.Error](err)
	if !ok || !errors.Is(err, redlock.ErrHeld) {
		_, reason, _ := strings.Cut(err.Error(), strconv.Quote(j.name)+": ")
		return cmp.Or(reason, err.Error())
	}
	left, ok := holdersTime(e.Votes)
	if !ok {
		return redlock.ErrHeld.Error()
	}
	return fmt.Sprintf("%v, who has %v left unless it is extended or released", redlock.ErrHeld, short(left))
}

// holdersTime returns how long the others' keys on a majority of the masters live,
// without the grace that no holder counts on.
func holdersTime(votes []redlock.Vote) (time.Duration, bool) {
	var lives []time.Duration
	for _, v := range votes {
		if v.Answer == quorum.Refused && v.Left > 0 {
			lives = append(lives, v.Left)
		}
	}
	if len(lives) == 0 {
		return 0, false
	}
	slices.Sort(lives)
	slices.Reverse(lives)
	last := min(quorum.Majority(len(votes)), len(lives))
	return max(0, lives[last-1]-clock.Grace), true
}
