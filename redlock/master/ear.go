package master

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// channel is where release.lua tells that key is free.
func channel(key string) string { return "redlock:free:" + key }

// ear hears which keys are freed on a master. It is a goroutine and a connection that
// exist only while somebody listens. A message is a hint and nothing more: whenever
// one may have been missed, all who listen are woken instead.
type ear struct {
	redis *redis.Options

	mu        sync.Mutex // guards what follows
	listeners map[string]func()
	sub       *redis.PubSub // nil while there is no connection
	running   bool
	closed    bool
	stop      context.CancelFunc
	life      sync.WaitGroup
}

// Listen has wake called when key is freed on this master, when listening begins, and
// when messages may have been missed. There is one listener for a key; wake must not
// block.
func (m *Master) Listen(key string, wake func()) {
	e := &m.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.listeners[channel(key)] = wake
	switch {
	case e.sub != nil:
		_ = e.sub.Subscribe(context.Background(), channel(key)) // who reads notices a failure
	case !e.running:
		var ctx context.Context
		ctx, e.stop = context.WithCancel(context.Background())
		e.running = true
		e.life.Go(func() { e.run(ctx) })
	}
}

// Unlisten ends what Listen began.
func (m *Master) Unlisten(key string) {
	e := &m.ear
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.listeners, channel(key))
	switch {
	case len(e.listeners) == 0 && e.stop != nil:
		e.hangUp()
	case e.sub != nil:
		_ = e.sub.Unsubscribe(context.Background(), channel(key))
	}
}

// hangUp ends the connection, and the attempts to get one. The caller holds mu.
func (e *ear) hangUp() {
	e.stop()
	if e.sub != nil {
		_ = e.sub.Close()
		e.sub = nil
	}
}

// close ends the ear and waits for it.
func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	clear(e.listeners)
	if e.stop != nil {
		e.hangUp()
	}
	e.mu.Unlock()
	e.life.Wait()
}

// run keeps a subscription while somebody listens.
func (e *ear) run(ctx context.Context) {
	backoff := minBackoff
	for {
		if e.subscribe(ctx) == nil {
			backoff = minBackoff
		}
		again, renewed := e.missed(ctx)
		if !again {
			return
		}
		if renewed != nil {
			ctx = renewed
			continue
		}
		pause(ctx, backoff)
		backoff = min(2*backoff, maxBackoff)
	}
}

// missed wakes all who listen, as the connection broke, and reports whether there are
// any. If they came after the last one had left, they get a new life to listen in.
func (e *ear) missed(ctx context.Context) (again bool, renewed context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sub = nil
	if len(e.listeners) == 0 || e.closed {
		e.running = false
		return false, nil
	}
	for _, wake := range e.listeners {
		wake()
	}
	if ctx.Err() != nil {
		renewed, e.stop = context.WithCancel(context.Background())
	}
	return true, renewed
}

// subscribe opens a connection and passes on what comes, until that breaks. Its error
// is nil if there was a connection.
func (e *ear) subscribe(ctx context.Context) error {
	dialing, cancel := context.WithTimeout(ctx, e.redis.DialTimeout)
	defer cancel()
	wire, err := e.redis.Dialer(dialing, "tcp", e.redis.Addr)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = wire.Close() })() // ends a handshake, too
	defer func() { _ = wire.Close() }()
	one := *e.redis
	one.Dialer = once(wire)
	client := redis.NewClient(&one)
	defer func() { _ = client.Close() }()
	sub := client.Subscribe(context.Background())
	defer func() { _ = sub.Close() }()
	// The handshake, which comes before anything is sent: nobody else is to wait for it.
	if err := sub.Unsubscribe(ctx); err != nil {
		return err
	}
	if err := e.begin(ctx, sub); err != nil {
		return err
	}
	for {
		message, err := sub.ReceiveTimeout(context.Background(), 0)
		if err != nil {
			return nil //nolint:nilerr // it was a connection
		}
		switch v := message.(type) {
		case *redis.Subscription:
			if v.Kind == "subscribe" {
				e.wake(v.Channel) // whatever was freed before it heard
			}
		case *redis.Message:
			e.wake(v.Channel)
		}
	}
}

// begin subscribes to all channels that are listened to.
func (e *ear) begin(ctx context.Context, sub *redis.PubSub) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() != nil || len(e.listeners) == 0 {
		return errors.New("nobody listens any more")
	}
	channels := make([]string, 0, len(e.listeners))
	for c := range e.listeners {
		channels = append(channels, c)
	}
	if err := sub.Subscribe(ctx, channels...); err != nil {
		return err
	}
	e.sub = sub
	return nil
}

func (e *ear) wake(channel string) {
	e.mu.Lock()
	wake := e.listeners[channel]
	e.mu.Unlock()
	if wake != nil {
		wake()
	}
}
