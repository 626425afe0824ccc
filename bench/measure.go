package main

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// result is what one lock did in one round, or the median of its rounds.
type result struct {
	Lock          string
	OpsPerSecond  float64 // an operation is a lock and its release
	P50, P99, Max time.Duration
	CPU           time.Duration // of this process, an operation; masters and proxies are not in it, delays are
	Allocs        float64       // an operation
	Errors        int           // operations that failed: a fast wrong answer must not look good
}

// measure lets workers use l for d, after a warm-up of a tenth of that.
func measure(ctx context.Context, l lock, addrs []string, workers int, d time.Duration) (result, error) {
	client, err := l.open(addrs)
	if err != nil {
		return result{}, err
	}
	defer client.Close()
	goroutines, each := workers, 1
	if c, ok := client.(*ceiling); ok {
		c.workers.Store(int64(workers))
		goroutines, each = len(c.clients), workers
	}
	use(ctx, client, goroutines, max(d/10, 50*time.Millisecond))
	cpu, allocs, start := cpuTime(), mallocs(), time.Now()
	samples, failures := use(ctx, client, goroutines, d)
	took := time.Since(start)
	ops := float64(len(samples) * each)
	if l.batches { // each goroutine did the work of one master
		ops /= float64(goroutines)
	}
	r := result{
		Lock:         l.name,
		OpsPerSecond: ops / took.Seconds(),
		CPU:          time.Duration(float64(cpuTime()-cpu) / max(ops, 1)),
		Allocs:       float64(mallocs()-allocs) / max(ops, 1),
		Errors:       failures,
	}
	slices.Sort(samples)
	if n := len(samples); n > 0 {
		r.P50, r.P99, r.Max = samples[n/2], samples[n*99/100], samples[n-1]
	}
	return r, nil
}

// use has n goroutines call Cycle for d, and returns how long each call took that
// succeeded, and how many failed.
func use(ctx context.Context, client locker, n int, d time.Duration) (samples []time.Duration, failures int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for w := range n {
		all.Go(func() {
			var mine []time.Duration
			failed := 0
			for start := time.Now(); start.Before(end) && ctx.Err() == nil; {
				err := client.Cycle(ctx, w)
				now := time.Now()
				if err == nil {
					mine = append(mine, now.Sub(start))
				} else {
					failed++
				}
				start = now
			}
			mu.Lock()
			defer mu.Unlock()
			samples, failures = append(samples, mine...), failures+failed
		})
	}
	all.Wait()
	return samples, failures
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// medians returns a row for each lock, in the order of the tables: the round in the
// middle by throughput.
func medians(rounds map[string][]result) []result {
	var rows []result
	for _, l := range locks {
		if r := rounds[l.name]; len(r) > 0 {
			slices.SortFunc(r, func(a, b result) int { return cmp.Compare(a.OpsPerSecond, b.OpsPerSecond) })
			rows = append(rows, r[len(r)/2])
		}
	}
	return rows
}
