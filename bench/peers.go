package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/lab"
	lablocks "github.com/quorumlock/redlock-go/internal/locks"
)

// The peers, as columns of the lab.
const (
	peerRedsync   = "redsync"
	peerRedislock = "redislock"
)

// unstaged are the faults that can't be staged for a peer. It reads Go's own clock, and
// nobody can shift that for one process; and on the connections that one makes by default it
// waits for an answer for longer than its lease lasts, so that no release follows a late
// extension.
var unstaged = []string{"wall-clock", "suspend", "late-extend"}

// with returns what is expected otherwise of a peer, with what is unstaged.
func with(but map[string]lab.Verdict) map[string]lab.Verdict {
	for _, fault := range unstaged {
		but[fault] = lab.None
	}
	return but
}

func peers() []lab.Design {
	lablocks.Register(peerRedsync, openPeerRedsync)
	lablocks.Register(peerRedislock, openPeerRedislock)
	return []lab.Design{
		lab.Peer(peerRedsync, "Redlock on five masters, by one of the most used libraries.", true, "textbook", with(map[string]lab.Verdict{
			"master-stopped": lab.Unavailable, // each attempt waits for all masters
		})),
		lab.Peer(peerRedislock, "Token and script on one master. The holder knows no deadline.", false, "token", with(map[string]lab.Verdict{
			"stopped-then-writes": lab.TwoHolders, "overrun": lab.TwoHolders, "holder-cut-off": lab.TwoHolders, "late-reply": lab.TwoHolders,
		})),
	}
}

// viaPeer is a lock of redsync or redislock on connections of go-redis.
type viaPeer struct {
	clients []*redis.Client
	acquire func(ctx context.Context, name string, ttl time.Duration) (lablocks.Held, error)
}

func (v *viaPeer) Acquire(ctx context.Context, name string, ttl time.Duration) (lablocks.Held, error) {
	return v.acquire(ctx, name, ttl)
}

func (v *viaPeer) Close() error {
	var all error
	for _, c := range v.clients {
		all = errors.Join(all, c.Close())
	}
	return all
}

// peerHeld is what a peer's holder has.
type peerHeld struct {
	until           func() clock.Instant
	token           string
	extend, release func(context.Context) error
}

func (h peerHeld) Until() clock.Instant              { return h.until() }
func (h peerHeld) Token() string                     { return h.token }
func (h peerHeld) Fence() uint64                     { return 0 }
func (h peerHeld) Extend(ctx context.Context) error  { return h.extend(ctx) }
func (h peerHeld) Release(ctx context.Context) error { return h.release(ctx) }

func never() clock.Instant { return clock.Never }

func openPeerRedsync(c lablocks.Config) (lablocks.Lock, error) {
	l, err := openRedsync(false)(c.Masters)
	if err != nil {
		return nil, err
	}
	r := l.(*viaRedsync)
	v := &viaPeer{clients: r.clients}
	v.acquire = func(ctx context.Context, name string, ttl time.Duration) (lablocks.Held, error) {
		m := r.rs.NewMutex(name, redsync.WithExpiry(ttl))
		for {
			err := m.LockContext(ctx)
			if err == nil {
				break
			}
			switch taken := new(redsync.ErrTaken); {
			case errors.As(err, &taken):
				err = fmt.Errorf("%w: %w", lablocks.ErrHeld, err)
			case errors.Is(err, redsync.ErrFailed):
				err = fmt.Errorf("%w: %w", lablocks.ErrUnreachable, err)
			}
			if ctx.Err() != nil {
				return nil, err
			}
		}
		return peerHeld{
			until:   func() clock.Instant { return clock.System.Now().Add(time.Until(m.Until())) },
			token:   m.Value(),
			extend:  func(ctx context.Context) error { return done(m.ExtendContext(ctx)) },
			release: func(ctx context.Context) error { return done(m.UnlockContext(ctx)) },
		}, nil
	}
	return v, nil
}

func done(ok bool, err error) error {
	if err == nil && !ok {
		err = errors.New("not done")
	}
	return err
}

func openPeerRedislock(c lablocks.Config) (lablocks.Lock, error) {
	v := &viaPeer{clients: connect(c.Masters[:1])}
	client := redislock.New(v.clients[0])
	v.acquire = func(ctx context.Context, name string, ttl time.Duration) (lablocks.Held, error) {
		var l *redislock.Lock
		for { // as its own retry does, which does not tell what was in the way
			var err error
			if l, err = client.Obtain(ctx, name, ttl, nil); err == nil {
				break
			}
			if errors.Is(err, redislock.ErrNotObtained) {
				err = fmt.Errorf("%w: %w", lablocks.ErrHeld, err)
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(10 * time.Millisecond):
			}
		}
		return peerHeld{
			until: never, token: l.Token(), release: l.Release,
			extend: func(ctx context.Context) error { return l.Refresh(ctx, ttl, nil) },
		}, nil
	}
	return v, nil
}
