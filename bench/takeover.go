package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock-go/redlock"
)

// holderArg makes this program a process that takes a lock and is killed.
const holderArg = "hold-as-child"

const takeoverTTL = time.Second

// takeover shows how long after the end of a dead holder's keys the next waiter has the
// lock: nobody releases, so nobody tells.
func takeover(ctx context.Context, m *masters, times int) error {
	client, err := redlock.New(redlock.Options{Masters: m.addrs()})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	var late []time.Duration
	for i := range times {
		d, err := takeoverOnce(ctx, client, m, fmt.Sprint("takeover-", i))
		if err != nil {
			return err
		}
		late = append(late, d)
	}
	slices.Sort(late)
	fmt.Printf("\nthe holder's process is killed, ttl %v: the next waiter has the lock %s after the keys' end (median of %d), at most %s\n",
		takeoverTTL, ms(late[len(late)/2]), times, ms(late[len(late)-1]))
	return nil
}

func takeoverOnce(ctx context.Context, client *redlock.Client, m *masters, name string) (time.Duration, error) {
	child := exec.CommandContext(ctx, os.Args[0], holderArg, strings.Join(m.addrs(), ","), name)
	out, err := child.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := child.Start(); err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(out).ReadString('\n') // it holds the lock
	waiting := make(chan time.Time, 1)
	go func() {
		if lease, err := client.Lock(ctx, name, takeoverTTL); err == nil {
			waiting <- time.Now()
			_ = lease.Release(ctx)
		}
		close(waiting)
	}()
	time.Sleep(takeoverTTL / 4) // so that it waits, and listens
	_ = child.Process.Kill()
	_ = child.Wait()
	end := m.majorityFree(ctx, name)
	acquired, ok := <-waiting
	if err != nil || !ok {
		return 0, fmt.Errorf("no takeover: %w", err)
	}
	return acquired.Sub(end), nil
}

// majorityFree returns when the keys of name end on a majority of the masters.
func (m *masters) majorityFree(ctx context.Context, name string) time.Time {
	var ends []time.Time
	for _, c := range connect(m.addrs()) {
		ends = append(ends, time.Now().Add(c.PTTL(ctx, name).Val()))
		_ = c.Close()
	}
	slices.SortFunc(ends, time.Time.Compare)
	return ends[len(ends)/2]
}

// holdAsChild takes the lock, says so, and waits to be killed.
func holdAsChild(args []string) {
	client, err := redlock.New(redlock.Options{Masters: strings.Split(args[0], ",")})
	if err == nil {
		_, err = client.Lock(context.Background(), args[1], takeoverTTL)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	fmt.Println("held")
	time.Sleep(time.Minute)
}
