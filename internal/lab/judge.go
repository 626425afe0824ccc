package lab

import "fmt"

// judge says what became of the lock, by the evidence alone.
func judge(e *Evidence) Verdict {
	switch {
	case len(e.Overlaps) > 0:
		return TwoHolders
	case e.Lost > 0:
		return LostUpdate
	}
	worst := OK
	for _, a := range e.Asks {
		if v := a.verdict(e.Left); rank(v) < rank(worst) {
			worst = v
		}
	}
	return worst
}

// lost returns how many writes landed on one that their writer had not seen: each writes one
// more than it has read.
func lost(values []int) int {
	n, before := 0, 0
	for _, v := range values {
		if v != before+1 {
			n++
		}
		before = v
	}
	return n
}

func rank(v Verdict) int {
	for i, other := range []Verdict{Stuck, Blocked, Refused, Unavailable, OK} {
		if v == other {
			return i
		}
	}
	return -1
}

func (a Ask) verdict(left *Leftover) Verdict {
	switch {
	case a.Got && a.late:
		return Blocked
	case a.Got:
		return OK
	case a.Why == refused:
		return Refused
	case a.Why == unreachable:
		return Unavailable
	case left != nil && left.Ends < 0:
		return Stuck
	}
	return Blocked
}

// measure says the verdict in figures.
func measure(v Verdict, e *Evidence) string {
	text := figures(v, e)
	if e.Sold == nil {
		return text
	}
	sold := fmt.Sprintf("%d left of %d after %d sales", e.Sold.Left, e.Sold.Pieces, e.Sold.Workers)
	if text == "" {
		return sold
	}
	return text + "; " + sold
}

func figures(v Verdict, e *Evidence) string {
	switch v {
	case TwoHolders:
		if e.Doubles > 1 {
			return fmt.Sprintf("%d times", e.Doubles)
		}
		o := e.Overlaps[0]
		return fmt.Sprintf("%s for %s", o.Lane, pretty(o.To-o.From))
	case LostUpdate:
		return fmt.Sprintf("%d of %d writes were lost", e.Lost, e.Writes)
	case Stuck:
		return "a key on " + e.Left.Master + " never ends"
	case Blocked:
		if e.Left != nil {
			return fmt.Sprintf("for %s more", pretty(e.Left.Ends))
		}
	case OK:
		if e.Stale > 0 {
			return "the resource refused the late write"
		}
		return ""
	case Refused: // the story tells why
		return ""
	default:
	}
	for _, a := range e.Asks {
		if a.verdict(e.Left) == v {
			return fmt.Sprintf("for %s", pretty(a.To-a.From))
		}
	}
	return ""
}
