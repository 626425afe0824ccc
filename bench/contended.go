package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// childArg makes this program one of several processes that contend.
const childArg = "contend-as-child"

const holdTime = 5 * time.Millisecond

// waits are, for each worker, how long it waited for each of its acquisitions.
type waits [][]time.Duration

// contended has workers on one name, in one process and in four, and shows how long
// they wait and how evenly they are served.
func (c config) contended(ctx context.Context, m *masters) error {
	for _, processes := range []int{1, 4} {
		const workers = 16
		fmt.Printf("\n%d workers on one name in %d process(es), %v of work each\n", workers, processes, holdTime)
		t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
		_, _ = fmt.Fprintln(t, "lock\tacquisitions/s\tof 1/(work + 1 trip)\twait p50\tp99\tmax\tJain's index\t")
		trip, err := roundTrip(ctx, m.addrs())
		if err != nil {
			return err
		}
		for _, l := range waiters {
			if c.Locks != "" && !slices.Contains(strings.Split(c.Locks, ","), l.name) {
				continue
			}
			d := 3 * c.Cell
			all, err := contend(ctx, l, m.addrs(), processes, workers/processes, d)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			s := all.sorted()
			if len(s) == 0 {
				return fmt.Errorf("%s: nobody got the lock", l.name)
			}
			rate := float64(len(s)) / d.Seconds()
			_, _ = fmt.Fprintf(t, "%s\t%.0f\t%s\t%s\t%s\t%s\t%.3f\t\n", l.name, rate, share(rate, 1/(holdTime+trip).Seconds()),
				ms(s[len(s)/2]), ms(s[len(s)*99/100]), ms(s[len(s)-1]), all.jain())
		}
		_ = t.Flush()
	}
	return nil
}

// roundTrip returns how long our lock takes when nobody else wants it.
func roundTrip(ctx context.Context, addrs []string) (time.Duration, error) {
	o, err := openOurs(addrs)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	samples, _ := use(ctx, o, 1, 300*time.Millisecond)
	if len(samples) == 0 {
		return 0, errors.New("the masters do not answer")
	}
	slices.Sort(samples)
	return samples[len(samples)/2] / 2, nil // a lock and a release
}

func contend(ctx context.Context, l lock, addrs []string, processes, workers int, d time.Duration) (waits, error) {
	if processes == 1 {
		return work(ctx, l, addrs, "process", workers, d)
	}
	var mu sync.Mutex
	var all waits
	var failed error
	var children sync.WaitGroup
	for range processes {
		children.Go(func() {
			out, err := exec.CommandContext(ctx, os.Args[0], childArg, l.name, strings.Join(addrs, ","), strconv.Itoa(workers), d.String()).Output()
			var w waits
			err = errors.Join(err, json.Unmarshal(out, &w))
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, w...), errors.Join(failed, err)
		})
	}
	children.Wait()
	return all, failed
}

// contendAsChild is one of the processes: its waits go to standard output.
func contendAsChild(args []string) {
	err := func() error {
		workers, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		d, err := time.ParseDuration(args[3])
		if err != nil {
			return err
		}
		i := slices.IndexFunc(waiters, func(l lock) bool { return l.name == args[0] })
		w, err := work(context.Background(), waiters[i], strings.Split(args[1], ","), "processes", workers, d)
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(w))
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// work has workers take one name for d. Each lock has a name of its own: some leave keys
// behind when their time is over.
func work(ctx context.Context, l lock, addrs []string, name string, workers int, d time.Duration) (waits, error) {
	client, err := l.open(addrs)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	all := make(waits, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				start := time.Now()
				_ = client.Hold(ctx, name+" "+l.name, func() {
					all[w] = append(all[w], time.Since(start))
					sleepUntil(time.Now().Add(holdTime)) // time.Sleep would overshoot by up to 1 ms where the process is idle
				})
			}
		})
	}
	group.Wait()
	return all, nil
}

func (w waits) sorted() []time.Duration {
	s := slices.Concat(w...)
	slices.Sort(s)
	return s
}

// jain returns Jain's fairness index of the workers' acquisitions: 1 if all got as
// many, 1/n if one got all.
func (w waits) jain() float64 {
	var sum, squares float64
	for _, worker := range w {
		n := float64(len(worker))
		sum, squares = sum+n, squares+n*n
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(w)) * squares)
}
