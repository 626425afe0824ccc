package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// fanout is the paper's rounds with nothing around them: a goroutine a master, no
// validity, no clean-up, no retries. What is left out is not safe to leave out.
type fanout struct{ clients []*redis.Client }

var del = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

func openFanout(addrs []string) (locker, error) { return fanout{connect(addrs)}, nil }

func (f fanout) Cycle(ctx context.Context, worker int) error {
	key, token := fmt.Sprint("fanout-", worker), uuid.NewString()
	err := f.all(func(c *redis.Client) error {
		ok, err := c.SetNX(ctx, key, token, ttl).Result()
		if err == nil && !ok {
			return errors.New("refused")
		}
		return err
	})
	return errors.Join(err, f.all(func(c *redis.Client) error { return del.Run(ctx, c, []string{key}, token).Err() }))
}

// all asks every master and returns when a majority has agreed.
func (f fanout) all(ask func(*redis.Client) error) error {
	answers := make(chan error, len(f.clients))
	for _, c := range f.clients {
		go func() { answers <- ask(c) }()
	}
	agreed := 0
	var last error
	for range f.clients {
		if last = <-answers; last == nil {
			if agreed++; agreed > len(f.clients)/2 {
				return nil
			}
		}
	}
	return last
}

func (f fanout) Hold(context.Context, string, func()) error { return errors.New("it can't wait") }

func (f fanout) Close() {
	for _, c := range f.clients {
		_ = c.Close()
	}
}
