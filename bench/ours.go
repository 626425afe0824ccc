package main

import (
	"context"
	"fmt"

	"github.com/quorumlock/redlock-go/redlock"
)

type ours struct{ client *redlock.Client }

func openOurs(addrs []string) (locker, error) {
	c, err := redlock.New(redlock.Options{Masters: addrs})
	return ours{c}, err
}

// openUnguarded opens our lock as textbook Redlock, which believes masters that forget.
func openUnguarded(addrs []string) (locker, error) {
	c, err := redlock.New(redlock.Options{Masters: addrs, Unguarded: true})
	return ours{c}, err
}

// openFenced opens our lock with a fence for every lease.
func openFenced(addrs []string) (locker, error) {
	c, err := redlock.New(redlock.Options{Masters: addrs, Fencing: true})
	return ours{c}, err
}

// initialise makes the masters a group, also those that have forgotten that they were one.
func initialise(ctx context.Context, addrs []string) error {
	c, err := redlock.New(redlock.Options{Masters: addrs})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return c.Init(ctx)
}

func (o ours) Cycle(ctx context.Context, worker int) error {
	lease, err := o.client.TryLock(ctx, fmt.Sprint("ours-", worker), ttl)
	if err != nil {
		return err
	}
	return lease.Release(ctx)
}

func (o ours) Hold(ctx context.Context, name string, f func()) error {
	lease, err := o.client.Lock(ctx, name, ttl)
	if err != nil {
		return err
	}
	f()
	return lease.Release(ctx)
}

func (o ours) Close() { _ = o.client.Close() }
