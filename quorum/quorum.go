// Package quorum counts the votes of one round: one question put to n independent
// masters at once, which a majority decides.
//
//  1. Every voter is asked the same question.
//  2. Each answers granted, refused, or not at all. A missing answer is unknown:
//     it may have acted. It is never taken for a refusal.
//  3. Grants count once for each distinct master, however many addresses lead to it.
//  4. The round is won as soon as a majority of n granted, if the holder's deadline
//     has not passed by then. It is lost as soon as that can't happen any more.
//
// All of it is plain values: no goroutine, no clock is read, no master is known.
// So a simulator drives the very code that production runs.
package quorum

import "github.com/quorumlock/redlock-go/clock"

// Majority returns the least number of n masters that any two majorities share
// a master with. For an even n it is half of n and one more.
func Majority(n int) int { return n/2 + 1 }

// Answer is what one voter said.
type Answer uint8

// The answers there are.
const (
	Unknown Answer = iota // no answer, or an error: it may have acted
	Granted
	Refused
)

func (a Answer) String() string {
	switch a {
	case Granted:
		return "granted"
	case Refused:
		return "refused"
	default:
		return "unknown"
	}
}

// Ballot is one voter's answer.
type Ballot struct {
	Voter  int    // which of the n, from 0
	Master string // identity of the master that answered; "" if it has none
	Answer Answer
}

// Decision is where a round stands.
type Decision uint8

// Where a round can stand.
const (
	Open    Decision = iota // more votes are needed
	Won                     // a majority granted, in time
	Lost                    // a majority can't grant any more
	Expired                 // a majority granted, too late
)

// Round counts the votes on one question. It is not safe for concurrent use.
type Round struct {
	need     int
	deadline clock.Instant
	ballots  []Ballot // by voter
	heard    []bool   // by voter
	missing  int
	decision Decision
	countBy  func(granted func(voter int) bool) int // nil for the masters' identities
	tally    Tally
	grants   int // whether they count or not
}

// NewRound returns a round of n voters that can be won until the deadline.
func NewRound(n int, deadline clock.Instant) *Round {
	return &Round{
		need:     Majority(n),
		deadline: deadline,
		ballots:  make([]Ballot, n),
		heard:    make([]bool, n),
		missing:  n,
	}
}

// Count takes one vote. A voter's second vote is ignored. Votes that come after the
// decision change nothing of it, but are in the [Round.Tally].
func (r *Round) Count(b Ballot) {
	if !r.heard[b.Voter] {
		r.heard[b.Voter] = true
		r.ballots[b.Voter] = b
		r.missing--
		r.tally = r.count()
	}
}

// CountBy has grants counted by f, which is told who granted, instead of once for each
// master. It comes before the first vote.
func (r *Round) CountBy(f func(granted func(voter int) bool) int) { r.countBy = f }

// Ripe reports whether the votes that came are enough for a decision.
func (r *Round) Ripe() bool {
	// What does not count yet may count with the next vote.
	return r.tally.Granted >= r.need || r.grants+r.missing < r.need || r.missing == 0
}

// Decide returns where the round stands at now, which must be read after the last vote
// was received. A decision once made stays.
func (r *Round) Decide(now clock.Instant) Decision {
	if r.decision != Open || !r.Ripe() {
		return r.decision
	}
	switch {
	case r.Tally().Granted < r.need:
		r.decision = Lost
	case now.Before(r.deadline):
		r.decision = Won
	default:
		r.decision = Expired
	}
	return r.decision
}

// Missing returns how many voters have not been heard.
func (r *Round) Missing() int { return r.missing }

// Tally is how many voters answered what. Granted is how many count.
type Tally struct{ Granted, Refused, Unknown int }

// Tally returns the count so far. Voters that have not been heard are in none of it.
func (r *Round) Tally() Tally { return r.tally }

func (r *Round) count() (t Tally) {
	for i, b := range r.ballots {
		switch {
		case !r.heard[i]:
		case b.Answer == Refused:
			t.Refused++
		case b.Answer == Unknown:
			t.Unknown++
		case r.countBy != nil || !r.grantedBefore(i):
			t.Granted++
		}
	}
	r.grants = t.Granted
	if r.countBy != nil && t.Granted >= r.need { // else it makes no difference yet
		t.Granted = r.countBy(func(voter int) bool { return r.heard[voter] && r.ballots[voter].Answer == Granted })
	}
	return t
}

// RefusedByMajority reports whether the refusals alone keep a majority from granting.
func (r *Round) RefusedByMajority() bool {
	return len(r.ballots)-r.Tally().Refused < r.need
}

// grantedBefore reports whether voter i's master has already granted under another
// address. A master without an identity counts by its address.
func (r *Round) grantedBefore(i int) bool {
	id := r.ballots[i].Master
	for j := range i {
		if id != "" && r.heard[j] && r.ballots[j].Answer == Granted && r.ballots[j].Master == id {
			return true
		}
	}
	return false
}
