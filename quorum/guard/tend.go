package guard

import (
	"slices"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/quorum/tenure"
)

// Tend returns what to send to the masters, given what all of them said in answer to one
// question: what the protocol of tenure wants, and the skew of clocks that have drifted. It
// is not to be called when the client's own clock stood still ([StoodStill]). nonce makes
// fresh random text.
func Tend(m *tenure.Machine, tails []*Tail, now clock.Instant, nonce func() string) []tenure.Send {
	for slot := range tails {
		m.Lost(slot) // what it said before is not worth mixing with this
	}
	var sends []tenure.Send
	for slot, t := range tails {
		if t == nil {
			continue
		}
		reply := t.Reply()
		reply.Accused, reply.Skew = accused(tails, slot), skew(tails, slot)
		sends = append(sends, m.Heard(slot, reply, t.Asked, now, nonce())...)
		if m.Standing(slot).State == tenure.Votes && Drifted(tails, slot) {
			sends = append(sends, tenure.Send{Slot: slot, Do: tenure.Settle{Skew: reply.Skew}})
		}
	}
	return sends
}

// stepped counts the clocks that stepped forward, back, or not at all since they were
// watched.
func stepped(tails []*Tail) (forward, back, steady int) {
	for t := range clocks(tails) {
		switch {
		case t.Sight == quorum.Steady:
			steady++
		case t.Sight == quorum.Stepped && t.Step > 0:
			forward++
		case t.Sight == quorum.Stepped:
			back++
		}
	}
	return forward, back, steady
}

// StoodStill reports whether so many clocks stepped in one direction that it must have been
// the client's own, in a machine that was stopped with all its clocks. Then no lease of it
// can be relied on, and all watches are to begin anew.
func StoodStill(tails []*Tail) bool {
	forward, back, _ := stepped(tails)
	return max(forward, back) >= quorum.Majority(len(tails))
}

// accused reports whether a master's clock provably stepped while those of a majority did
// not. One look does not prove it: the client's own clock may have stood still in the midst
// of that. Then the next look shows that all others have stepped.
func accused(tails []*Tail, slot int) bool {
	_, _, steady := stepped(tails)
	return tails[slot].Again && steady >= quorum.Majority(len(tails))
}

// Median returns the middle of the clocks' offsets.
func Median(tails []*Tail) time.Duration {
	var all []time.Duration
	for _, t := range tails {
		if t != nil {
			all = append(all, t.Offset.Middle())
		}
	}
	return middle(all)
}

func middle(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// skew returns how far a master's clock is ahead of the time that the group has kept: the
// middle of what the clocks of those with tenure say, each but for its own skew. So it
// makes no difference who is away.
func skew(tails []*Tail, slot int) time.Duration {
	var kept []time.Duration
	for _, t := range tails {
		if t != nil && t.Tenure() != "" {
			kept = append(kept, t.Offset.Less(t.Record.Skew).Middle())
		}
	}
	now := Median(tails)
	if len(kept) > 0 {
		now = middle(kept)
	}
	return (tails[slot].Offset.Middle() - now).Truncate(time.Microsecond)
}

// Drifted reports whether a clock, which was watched for long enough to know that it did
// not step, has drifted so far from the others' that who sees it for the first time
// should be told.
func Drifted(tails []*Tail, slot int) bool {
	for _, t := range tails {
		if t != nil && !t.Whole {
			return false
		}
	}
	t := tails[slot]
	return t != nil && (skew(tails, slot)-t.Record.Skew).Abs() > clock.Tolerance/5
}
