package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ceiling is what the masters and go-redis can do at all: the same two commands for
// each lock, in pipelines as long as there are workers, over one connection a master,
// with no lock around them. Its workers are the masters that answer: each streams for itself.
type ceiling struct {
	clients []*redis.Client
	workers atomic.Int64 // set by measure
}

func openCeiling(addrs []string) (locker, error) {
	c := &ceiling{}
	for _, a := range addrs {
		r := redis.NewClient(&redis.Options{Addr: a, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second})
		if r.ScriptLoad(context.Background(), releaseLua).Err() != nil {
			_ = r.Close()
			continue
		}
		c.clients = append(c.clients, r)
	}
	return c, nil
}

// releaseLua does what our release script does.
const releaseLua = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return -3 - redis.call('PUBLISH', 'free', '') end return redis.call('PTTL', KEYS[1])`

var release = redis.NewScript(releaseLua)

// Cycle sends, to one master, one batch of locks and then one of releases.
func (c *ceiling) Cycle(ctx context.Context, master int) error {
	r := c.clients[master%len(c.clients)]
	n := int(c.workers.Load())
	for _, step := range []func(p redis.Pipeliner, key string){
		func(p redis.Pipeliner, key string) {
			_ = p.Process(ctx, redis.NewCmd(ctx, "set", key, token, "nx", "px", ttl.Milliseconds()))
		},
		func(p redis.Pipeliner, key string) {
			_ = p.Process(ctx, redis.NewCmd(ctx, "evalsha", release.Hash(), 1, key, token))
		},
	} {
		p := r.Pipeline()
		for i := range n {
			step(p, fmt.Sprint("ceiling-", i))
		}
		if _, err := p.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

const token = "0b9ad4b5-8f2d-4b0c-9d52-0f7c6a3f7f11"

func (c *ceiling) Hold(context.Context, string, func()) error { return errors.New("it is no lock") }

func (c *ceiling) Close() {
	for _, r := range c.clients {
		_ = r.Close()
	}
}
