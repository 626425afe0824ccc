package redlock

import (
	"context"
	"errors"
	"slices"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/guard"
	"github.com/quorumlock/redlock-go/redlock/master"
)

// question is one thing asked of all masters at once, and their votes on it.
// It is confined to one goroutine; only the channel is shared.
type question struct {
	client   *Client
	names    []string
	deadline clock.Instant
	round    quorum.Round
	replies  chan master.Reply // has room for all, so that late ones hold nobody up
	votes    []Vote
	runs     []string      // run_id of who voted; "" if it hides it
	fences   []uint64      // of locks with a fence: which number each gave
	tails    []*guard.Tail // of locks and extensions, where there is a guard
	ripe     clock.Instant // when the votes were enough to decide
	told     int           // of a release: how many who wait elsewhere were told, on any one master
}

// newQuestion returns a question that can be won until the deadline.
func (c *Client) newQuestion(names []string, deadline clock.Instant) *question {
	q := &question{
		client:   c,
		names:    names,
		deadline: deadline,
		round:    *quorum.NewRound(len(c.masters), deadline),
		replies:  make(chan master.Reply, len(c.masters)),
		votes:    make([]Vote, len(c.masters)),
		runs:     make([]string, len(c.masters)),
	}
	return q
}

// needTenure has only such votes count that masters with tenure give.
func (q *question) needTenure() {
	if c := q.client; c.guard != nil {
		q.tails = make([]*guard.Tail, len(q.votes))
		q.round.CountBy(func(granted func(voter int) bool) int { return c.countVotes(q.tails, granted) })
	}
}

// keys returns the keys of the names on the masters.
func (q *question) keys() []string {
	keys := make([]string, len(q.names))
	for i, name := range q.names {
		keys[i] = q.client.prefix + name
	}
	return keys
}

// ask sends r to every master.
func (q *question) ask(r master.Request) {
	q.askEach(func(int) master.Request { return r })
}

// askSome sends r to those masters whose votes are asked for.
func (q *question) askSome(asked func(voter int) bool, r master.Request) {
	for i, m := range q.client.masters {
		if asked(i) {
			q.send(i, m, r)
		}
	}
}

// askEach sends every master a request of its own.
func (q *question) askEach(request func(voter int) master.Request) {
	for i, m := range q.client.masters {
		q.send(i, m, request(i))
	}
}

func (q *question) send(voter int, m *master.Master, r master.Request) {
	r.Voter, r.To = voter, q.replies
	m.Send(r)
}

// count takes votes until they decide, or ctx ends; that leaves the round open.
func (q *question) count(ctx context.Context) quorum.Decision {
	for !q.round.Ripe() {
		if !q.takeNext(ctx) {
			return quorum.Open
		}
	}
	if q.deadline != clock.Never { // else it makes no difference when that was
		q.ripe = q.client.clock.Now()
	}
	return q.round.Decide(q.ripe)
}

// takeNext takes the next vote, and reports whether that came before the end of ctx.
func (q *question) takeNext(ctx context.Context) bool {
	if ctx.Done() == nil { // most often: a plain receive costs half of a select
		q.take(<-q.replies)
		return true
	}
	select {
	case r := <-q.replies:
		q.take(r)
		return true
	case <-ctx.Done():
		return false
	}
}

// countAll takes the votes that are still missing too, so that an error can say
// what every master thinks. Each answers within its own time-outs.
func (q *question) countAll() { q.countRest(context.Background()) }

// countRest takes the votes that are still missing, until ctx ends.
func (q *question) countRest(ctx context.Context) {
	for more := true; more && q.round.Missing() > 0; {
		more = q.takeNext(ctx)
	}
}

// countIn takes the votes that have come already.
func (q *question) countIn() {
	for {
		select {
		case r := <-q.replies:
			q.take(r)
		default:
			return
		}
	}
}

func (q *question) take(r master.Reply) {
	q.votes[r.Voter] = Vote{Answer: r.Answer, Left: r.Left, Missing: r.Missing, Err: r.Err, unsent: r.Unsent}
	q.runs[r.Voter] = r.Run
	if q.tails != nil {
		q.examine(r)
	}
	q.round.Count(quorum.Ballot{Voter: r.Voter, Master: r.Run, Answer: q.votes[r.Voter].Answer})
	q.told = max(q.told, r.Told)
	if q.fences != nil && q.votes[r.Voter].Answer == quorum.Granted {
		q.fences[r.Voter] = r.Fence
	}
	if (r.Op == master.Acquire || r.Op == master.Extend) && q.client.trace.Vote != nil {
		q.client.trace.Vote(joined(q.names), q.named()[r.Voter])
	}
}

// examine takes what a master said with its vote. A grant that can't count is unknown: the
// key may be there.
func (q *question) examine(r master.Reply) {
	q.tails[r.Voter] = r.Tail
	if r.Tail == nil {
		return
	}
	err := q.client.guard.Admit(r.Voter, r.Tail)
	if err != nil {
		q.client.keeper.wake()
	} else if r.Fence != 0 && !r.Tail.Covers(r.Fence) {
		err = errBeforeFloor
	}
	v := &q.votes[r.Voter]
	switch {
	case err == nil:
	case v.Answer == quorum.Granted, r.Op == master.Acquire && errors.Is(err, ErrUnsafe): // a refusal of masters that are not ours says nothing
		v.Answer, v.Err = quorum.Unknown, err
	}
}

// object marks, in a round that was not won, the grants that did not count, with the
// reason.
func (q *question) object() {
	for i, t := range q.tails {
		if v := &q.votes[i]; t != nil && v.Answer == quorum.Granted {
			if err := q.client.guard.Objection(q.tails, i); err != nil {
				q.client.keeper.wake()
				v.Answer, v.Err = quorum.Unknown, err
			}
		}
	}
}

// advise has the votes that could not count, of a round that was not won, say what is to
// be done about it.
func (q *question) advise(ctx context.Context) {
	q.object()
	if q.client.guard == nil || !slices.ContainsFunc(q.votes, func(v Vote) bool { return errors.Is(v.Err, guard.ErrNoTenure) }) {
		return
	}
	standings := q.client.keeper.settled(ctx)
	for i := range q.votes {
		if v := &q.votes[i]; errors.Is(v.Err, guard.ErrNoTenure) {
			v.Err = advice(standings[i], q.tails)
		}
	}
}

// named returns the votes, with the masters' names. A master under a second address has
// no vote there: what it refuses there is its own grant.
func (q *question) named() []Vote {
	for i, m := range q.client.masters {
		q.votes[i].Master = m.Addr()
		if err := q.client.sameMaster(q.runs, i); err != nil {
			q.votes[i].Answer, q.votes[i].Err = quorum.Unknown, err
		}
	}
	return q.votes
}

// fail returns err with the votes that led to it.
func (q *question) fail(op string, err error) *Error {
	return &Error{Op: op, Name: joined(q.names), Err: err, Votes: slices.Clone(q.named())} // late votes come in still
}

// verdict says what a round on a lease that was there before came to.
func (q *question) verdict(op string, d quorum.Decision) error {
	if d == quorum.Won {
		return nil
	}
	q.countAll()
	q.object()
	switch {
	case d == quorum.Expired:
		return q.fail(op, ErrExpired)
	case q.round.RefusedByMajority():
		return q.fail(op, ErrNotHeld)
	case q.unsafe():
		return q.fail(op, ErrUnsafe)
	default:
		return q.fail(op, ErrNoQuorum)
	}
}

// unsafe reports whether so many masters are unfit to vote that no majority is left.
func (q *question) unsafe() bool {
	unfit := 0
	for _, v := range q.votes {
		if errors.Is(v.Err, ErrUnsafe) {
			unfit++
		}
	}
	return len(q.votes)-unfit < quorum.Majority(len(q.votes))
}
