package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/quorumlock/redlock-go/redlock"
)

// What redlock exits with, where it is not the command's own code. They are those
// of sysexits.h and of the shell.
const (
	exitOK          = 0
	exitNotHeld     = 1   // unlock: the token does not hold the lock
	exitUsage       = 64  // EX_USAGE
	exitNoQuorum    = 69  // EX_UNAVAILABLE
	exitSoftware    = 70  // EX_SOFTWARE: what nobody thought of
	exitNotAcquired = 75  // EX_TEMPFAIL; -E changes it
	exitLost        = 76  // EX_PROTOCOL
	exitUnsafe      = 78  // EX_CONFIG
	exitNotExecuted = 126 // as a shell says that a command can't be executed
	exitNotFound    = 127 // and that there is none
	exitSignal      = 128 // plus the number of the signal
)

// outcome is how a run ended, in one word, for --json.
type outcome string

const (
	ended       outcome = "ended"        // the command ended by itself; the code is its own
	signalled   outcome = "signalled"    // a signal ended it
	lost        outcome = "lost"         // the lock was lost while it ran
	notAcquired outcome = "not-acquired" // another holds the lock
	noQuorum    outcome = "no-quorum"    // too few masters answer
	interrupted outcome = "interrupted"  // a signal came before the command was started
	notStarted  outcome = "not-started"  // the command can't be executed
	unsafe      outcome = "unsafe"       // the masters can't make the promise
	failed      outcome = "failed"       // misused, or what nobody thought of
)

// exitError is an end that is not a plain success.
type exitError struct {
	code    int
	outcome outcome
	err     error // what to tell; nil for nothing
	told    bool  // it was told already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage is the error of who calls a command wrongly.
func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, outcome: failed, err: fmt.Errorf(format, args...)}
}

// failure is the end that an error of package redlock leads to.
func failure(err error) *exitError {
	switch {
	case errors.Is(err, redlock.ErrUnsafe):
		return &exitError{code: exitUnsafe, outcome: unsafe, err: once(err)}
	case errors.Is(err, redlock.ErrHeld):
		return &exitError{code: exitNotAcquired, outcome: notAcquired, err: err}
	case errors.Is(err, redlock.ErrNoQuorum), errors.Is(err, redlock.ErrExpired):
		return &exitError{code: exitNoQuorum, outcome: noQuorum, err: err}
	default:
		return &exitError{code: exitSoftware, outcome: failed, err: err}
	}
}

// commonError is an error for which all masters have the same reason, which is said once.
type commonError struct {
	err *redlock.Error
	why error
}

func (e *commonError) Error() string {
	return fmt.Sprintf("%s %q: %v (on all %d masters)", e.err.Op, e.err.Name, e.why, len(e.err.Votes))
}

func (e *commonError) Unwrap() error { return e.err }

// once returns err, or what it comes to if that is the same for all masters.
func once(err error) error {
	e, ok := errors.AsType[*redlock.Error](err)
	if !ok || len(e.Votes) < 2 {
		return err
	}
	for _, v := range e.Votes {
		if first := e.Votes[0].Err; v.Err == nil || first == nil || v.Err.Error() != first.Error() {
			return err
		}
	}
	return &commonError{e, e.Votes[0].Err}
}

// conclude tells what went wrong, in one line, and returns the exit code.
func (a *app) conclude(err error) int {
	if err == nil {
		return exitOK
	}
	end, ok := errors.AsType[*exitError](err)
	if !ok {
		end = &exitError{code: exitUsage, outcome: failed, err: err} // only cobra's own errors come without a code
	}
	if end.err != nil && !end.told {
		hint := ""
		if end.code == exitUsage {
			hint = " (see redlock --help)"
		}
		_, _ = fmt.Fprintln(a.err, oneLine(end.Error())+hint)
	}
	return end.code
}

// number returns a signal's number, as exit codes count it.
func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 0
}
