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
