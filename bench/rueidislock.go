package main

import (
	"context"
	"errors"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// viaRueidislock keeps its three keys on one master: it is no quorum of masters.
type viaRueidislock struct{ locker rueidislock.Locker }

func openRueidislock(addrs []string) (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: addrs[:1]},
		KeyMajority:    2,
		KeyValidity:    ttl,
		NoLoopTracking: true,
	})
	return viaRueidislock{l}, err
}

func (r viaRueidislock) Cycle(context.Context, int) error { return errors.New("not compared here") }

func (r viaRueidislock) Hold(ctx context.Context, name string, f func()) error {
	_, cancel, err := r.locker.WithContext(ctx, name)
	if err != nil {
		return err
	}
	f()
	cancel()
	return nil
}

func (r viaRueidislock) Close() { r.locker.Close() }
