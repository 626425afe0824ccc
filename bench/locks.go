package main

import (
	"context"
	"time"
)

const ttl = 8 * time.Second // redsync's default

// locks are what is compared, in the order of the tables.
var locks = []lock{
	{name: "ours", open: openOurs},
	{name: "ours with fences", open: openFenced},
	{name: "ours unguarded", open: openUnguarded},
	{name: "redsync", open: openRedsync(false)},
	{name: "redsync fail-fast", open: openRedsync(true)},
	{name: "raw fan-out", open: openFanout},
	{name: "ceiling", open: openCeiling, batches: true},
}

// waiters are the locks of the contended scenarios: those that can wait.
var waiters = []lock{
	{name: "ours", open: openOurs},
	{name: "redsync", open: openRedsync(false)},
	{name: "rueidislock (one master)", open: openRueidislock},
}

type lock struct {
	name    string
	open    func(addrs []string) (locker, error)
	batches bool // one call does the work of all workers
}

// locker is one client of a lock, as many goroutines use it.
type locker interface {
	// Cycle takes a free lock and lets go.
	Cycle(ctx context.Context, worker int) error
	// Hold waits for a lock until ctx ends, calls f, and lets go.
	Hold(ctx context.Context, name string, f func()) error
	Close()
}
