package main

import (
	"syscall"
	"time"
)

// sleepUntil is exact to some ten microseconds. Go's own timers wake an idle process by
// whole milliseconds here.
func sleepUntil(due time.Time) {
	if wait := time.Until(due); wait > 0 {
		t := syscall.NsecToTimespec(int64(wait))
		_ = syscall.Nanosleep(&t, nil)
	}
}
