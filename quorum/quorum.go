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

const (
	Open    Decision = iota // more votes are needed
	Won                     // a majority granted, in time
	Lost                    // a majority can't grant any more
	Expired                 // the deadline passed first
)

// Round counts the votes on one question. It is not safe for concurrent use.
type Round struct {
	need     int
	deadline clock.Instant
	ballots  []Ballot // by voter; open tells which have not come in
	came     []bool
	left     int
	decision Decision
}

// NewRound returns a round of n voters that can be won until the deadline.
func NewRound(n int, deadline clock.Instant) *Round {
	return &Round{
		need:     Majority(n),
		deadline: deadline,
		ballots:  make([]Ballot, n),
		came:     make([]bool, n),
		left:     n,
	}
}

// Count takes one vote, received at now, and returns where the round stands.
// A voter's second vote is ignored, and a decision once made stays; votes that
// come later are still recorded, for [Round.Tally].
func (r *Round) Count(b Ballot, now clock.Instant) Decision {
	if !r.came[b.Voter] {
		r.came[b.Voter] = true
		r.ballots[b.Voter] = b
		r.left--
	}
	if r.decision == Open {
		r.decision = r.decide(now)
	}
	return r.decision
}

// Decision returns where the round stands.
func (r *Round) Decision() Decision { return r.decision }

// Missing returns how many voters have not been heard.
func (r *Round) Missing() int { return r.left }

func (r *Round) decide(now clock.Instant) Decision {
	t := r.Tally()
	switch {
	case !now.Before(r.deadline):
		return Expired
	case t.Granted >= r.need:
		return Won
	case t.Granted+r.left < r.need:
		return Lost
	default:
		return Open
	}
}

// Tally is how many voters answered what. Granted counts distinct masters.
type Tally struct{ Granted, Refused, Unknown int }

// Tally returns the count so far. Voters that have not been heard are in none of it.
func (r *Round) Tally() Tally {
	var t Tally
	for i, b := range r.ballots {
		switch {
		case !r.came[i]:
		case b.Answer == Refused:
			t.Refused++
		case b.Answer == Unknown:
			t.Unknown++
		case !r.grantedBefore(i):
			t.Granted++
		}
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
		if id != "" && r.came[j] && r.ballots[j].Answer == Granted && r.ballots[j].Master == id {
			return true
		}
	}
	return false
}
