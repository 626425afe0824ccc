package locks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

// ours is what this project is about.
type ours struct{ *redlock.Client }

func newOurs(kind string, c Config) (Lock, error) {
	client, err := redlock.New(redlock.Options{
		Masters: c.Masters, MaxTTL: c.MaxTTL, Clock: c.Clock,
		Unguarded: kind == Unguarded, Fencing: kind == OursFenced,
	})
	return ours{client}, err
}

func (o ours) Acquire(ctx context.Context, name string, ttl time.Duration) (Held, error) {
	lease, err := o.Lock(ctx, name, ttl)
	if err != nil {
		return nil, refusal{err}
	}
	return leased{lease}, nil
}

// refusal is an error of ours that knows the errors of this package.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func (r refusal) Is(target error) bool {
	switch target {
	case ErrUnsafe:
		return errors.Is(r.error, redlock.ErrUnsafe)
	case ErrHeld:
		return errors.Is(r.error, redlock.ErrHeld) || r.any(func(v redlock.Vote) bool { return v.Answer == quorum.Refused })
	}
	return false
}

// any reports whether one of the votes was such a one.
func (r refusal) any(f func(redlock.Vote) bool) bool {
	var e *redlock.Error
	return errors.As(r.error, &e) && slices.ContainsFunc(e.Votes, f)
}

type leased struct{ *redlock.Lease }

func (l leased) Until() clock.Instant {
	now := clock.System.Now() // before the lease's clock: what is left is counted from here
	return now.Add(l.Remaining())
}
