package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Init makes the client's masters a group, in which they may vote: it is an operator's word
// that no lock is held on them, and none is being taken. All of them must answer. Masters
// that are a group already are left as they are. It fails with [ErrUnsafe] if two addresses
// lead to one master, and with [ErrNoQuorum] if a master is away.
func (c *Client) Init(ctx context.Context) error {
	const op = "init"
	l, err := c.operate(ctx, op)
	if err != nil {
		return err
	}
	t := c.tend(tenure.NewInit(l))
	for {
		t.look()
		if err := cmp.Or(c.alive(ctx), t.reachesAll()); err != nil {
			return &Error{Op: op, Err: err}
		}
		progress := t.act()
		if t.allVote() {
			return nil
		}
		if !progress {
			sleep(ctx, operatorPause)
		}
	}
}

// Replace gives the place of the master that was reached at from to the one at to, which
// is among the client's masters, and returns when that has a vote: after MaxTTL and a bit. If
// ctx ends before, what was begun goes on with any client of the same masters. It fails
// with [ErrUnsafe] if no place is, or was, that of from; doing it twice does no harm.
func (c *Client) Replace(ctx context.Context, from, to string) error {
	const op = "replace"
	l, err := c.operate(ctx, op)
	if err != nil {
		return err
	}
	slot := slices.Index(l.Addresses, to)
	if slot < 0 || slices.Contains(l.Addresses, from) {
		return &Error{Op: op, Name: from, Err: fmt.Errorf("the client's masters must have %s instead of %s among them", to, from)}
	}
	l.Move = tenure.Move{From: from, To: to}
	t := c.tend(tenure.NewMachine(l))
	for {
		progress := t.turn()
		if err := c.alive(ctx); err != nil {
			return &Error{Op: op, Name: from, Err: err}
		}
		switch s := t.machine.Standing(slot); {
		case progress:
			continue
		case s.State == tenure.Votes:
			return nil
		case s.State == tenure.Homeless:
			return &Error{Op: op, Name: from, Err: fmt.Errorf("%w: no master of the group is known at %s, nor at %s", ErrUnsafe, from, to)}
		case s.State == tenure.Empty:
			return &Error{Op: op, Name: from, Err: advice(s, t.tails)}
		}
		sleep(ctx, max(operatorPause, min(t.machine.Pause(), time.Second)))
	}
}

// operatorPause is between two looks at masters that are not ready.
const operatorPause = 50 * time.Millisecond

// operate returns the list of the masters that an operator is to change.
func (c *Client) operate(ctx context.Context, op string) (tenure.List, error) {
	if err := c.alive(ctx); err != nil {
		return tenure.List{}, &Error{Op: op, Err: err}
	}
	if c.guard == nil {
		return tenure.List{}, &Error{Op: op, Err: errors.New("this client goes without the guard (Unguarded)")}
	}
	return c.guard.List(), nil
}

// reachesAll returns an error if a master does not answer, or answers twice.
func (t *tending) reachesAll() error {
	for i, tail := range t.tails {
		addr := t.client.masters[i].Addr()
		if tail == nil && errors.Is(t.errs[i], ErrUnsafe) {
			return fmt.Errorf("%s: %w", addr, t.errs[i])
		}
		if tail == nil {
			return fmt.Errorf("%w: all masters must answer, and %s does not: %w", ErrNoQuorum, addr, t.errs[i])
		}
		for j := range i {
			if t.tails[j].Process == tail.Process {
				return fmt.Errorf("%w: %s is the same master as %s", ErrUnsafe, addr, t.client.masters[j].Addr())
			}
		}
	}
	return nil
}

func (t *tending) allVote() bool {
	return !slices.ContainsFunc(t.standings(), func(s tenure.Standing) bool { return s.State != tenure.Votes })
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
