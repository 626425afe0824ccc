package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/redlock"
)

// fences shows how many leases have their fence after one round trip. Where the masters
// gave different numbers, those that gave less are asked to count up: each such request is
// counted, so the share is at least what is shown.
func (c config) fences(ctx context.Context, m *masters) error {
	fmt.Printf("\nfences: leases that had one after the first round trip\n")
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "\tleases\tat least\t")
	for _, s := range []struct {
		name             string
		clients, workers int // workers of each client
		key              func(client, worker, turn int) string
	}{
		{"1 worker", 1, 1, func(_, _, _ int) string { return "fences" }},
		{fmt.Sprintf("%d workers, each on a name of its own", c.Workers), 1, c.Workers, func(_, w, _ int) string { return fmt.Sprint("fences-", w) }},
		{fmt.Sprintf("%d workers, each time on a new name", c.Workers), 1, c.Workers, func(_, w, n int) string { return fmt.Sprint("fences-", w, "-", n) }},
		{"8 clients, each time on a new name", 8, 1, func(c, _, n int) string { return fmt.Sprint("fences-of-", c, "-", n) }},
		{"8 clients on one name", 8, 1, func(_, _, _ int) string { return "fences-of-all" }},
	} {
		before, err := countUps(ctx, m)
		if err != nil {
			return err
		}
		leases, err := takeFenced(ctx, m.addrs(), s.clients, s.workers, c.Cell, s.key)
		if err != nil {
			return err
		}
		after, err := countUps(ctx, m)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f %%\t\n", s.name, leases, 100*max(0, 1-float64(after-before)/float64(leases)))
	}
	return t.Flush()
}

// takeFenced has workers of several clients take locks with fences for d, and returns how
// many leases they had.
func takeFenced(ctx context.Context, addrs []string, clients, workers int, d time.Duration, key func(client, worker, turn int) string) (int64, error) {
	var leases atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(d)
	for client := range clients {
		c, err := redlock.New(redlock.Options{Masters: addrs, Fencing: true})
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close() }()
		for worker := range workers {
			group.Go(func() {
				for turn := 0; time.Now().Before(end); turn++ {
					lease, err := c.Lock(ctx, key(client, worker, turn), ttl)
					if err != nil {
						continue
					}
					leases.Add(1)
					_ = lease.Release(ctx)
				}
			})
		}
	}
	group.Wait()
	return leases.Load(), nil
}

// countUps returns how often masters counted up when they were asked to. The script for that
// reads the key, and so does the one that releases, which then deletes it, or looks at how
// long it lives.
func countUps(ctx context.Context, m *masters) (int, error) {
	n := 0
	for _, addr := range m.addrs() {
		r := redis.NewClient(&redis.Options{Addr: addr})
		info, err := r.Info(ctx, "commandstats").Result()
		_ = r.Close()
		if err != nil {
			return 0, err
		}
		n += calls(info, "get") - calls(info, "del") - calls(info, "pttl")
	}
	return n, nil
}

func calls(info, command string) int {
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	n := 0
	_, _ = fmt.Sscanf(rest, "%d", &n)
	return n
}
