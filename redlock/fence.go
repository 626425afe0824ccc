package redlock

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// fencing is what a client with fences knows of them.
type fencing struct {
	highest atomic.Uint64 // that it was given
}

// hint returns a number that is most likely above all that any master has come to: so they
// all give that one, and one round trip is enough. That is all it is for: with a wall clock
// that is wrong numbers still grow, one by one. It leaves room for that.
func (f *fencing) hint() uint64 {
	const most = quorum.MaxFence / 2
	wall := max(0, time.Now().UnixMicro())
	return min(max(uint64(wall), f.highest.Load()+1), most)
}

func (f *fencing) saw(no uint64) {
	for {
		highest := f.highest.Load()
		if no <= highest || f.highest.CompareAndSwap(highest, no) {
			return
		}
	}
}

// newAcquire asks for the lock of q's names, and a fence if there are to be any.
func (c *Client) newAcquire(q *question, token string, life time.Duration) master.Request {
	if c.fencing == nil {
		return master.NewAcquire(q.keys(), token, life, q.deadline)
	}
	q.fences = make([]uint64, len(q.votes))
	return master.NewFenced(q.keys(), token, life, c.fencing.hint(), q.deadline)
}

// errBeforeFloor is why a vote does not count: see [guard.Tail.Covers].
var errBeforeFloor = errors.New("its fence is from before its tenure")

// errUncounted is why a master has no say in whether a fence is good.
var errUncounted = errors.New("its grant came after the fence was chosen")

// fence returns the fence of the lock that q has won, once a majority has counted up to it;
// see [quorum.Fence]. Where the masters disagree that takes a round of its own, in which those
// that gave the number have voted.
func (c *Client) fence(ctx context.Context, q *question, token string) (uint64, quorum.Decision) {
	f := quorum.NewFence(slices.Clone(q.fences)) // later votes have no part in it
	c.fencing.saw(f.No())
	if c.countVotes(q.tails, f.Has) >= quorum.Majority(len(q.votes)) {
		return f.No(), quorum.Won
	}
	up := c.newQuestion(q.names, q.deadline)
	up.needTenure()
	for i := range q.votes {
		vote := master.Reply{Op: master.CountUp, Voter: i, Run: q.runs[i], Tail: q.tails[i], Err: errUncounted}
		if f.Has(i) {
			vote.Answer, vote.Err = quorum.Granted, nil
		}
		if !f.Asks(i) {
			up.take(vote)
		}
	}
	up.askSome(f.Asks, master.NewCountUp(q.keys(), token, f.No(), q.deadline))
	decision := up.count(ctx)
	for i := range q.votes {
		if f.Asks(i) {
			q.votes[i] = up.votes[i] // says more, but for what was sent before
			q.votes[i].unsent = false
		}
	}
	q.ripe = up.ripe
	return f.No(), decision
}
