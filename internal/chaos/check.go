package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quorumlock/redlock-go/clock"
)

// Violation is what a check found.
type Violation struct {
	Check string // "L1" to "L6", "V"
	What  string
}

func (v Violation) String() string { return v.Check + ": " + v.What }

func violation(check, format string, args ...any) Violation {
	return Violation{check, fmt.Sprintf(format, args...)}
}

func byName(all []*hold) map[string][]*hold {
	names := map[string][]*hold{}
	for _, h := range all {
		names[h.name] = append(names[h.name], h)
	}
	return names
}

// exclusion is L1: a hold lasts from the return of Lock to the end of what its holder could
// believe, and no two of a name overlap.
func exclusion(all []*hold) (found []Violation) {
	for name, holds := range byName(all) {
		var last *hold // which lasts longest, of those before
		for _, h := range holds {
			if last != nil && h.held.Before(last.until) && h.held.Before(h.until) {
				found = append(found, violation("L1", "%s is held twice for %v: by %s from %v, until %v, and by %s from %v",
					name, min(last.until, h.until).Sub(h.held), last.id, last.held, last.until, h.id, h.held))
			}
			if last == nil || last.until.Before(h.until) {
				last = h
			}
		}
	}
	return found
}

// validity is L2: of each hold that was looked at, a majority keeps the token until the
// deadline, but for masters that had a fault meanwhile.
func validity(history []Event, all []*hold, masters int) (found []Violation) {
	broken := faulty(history)
	byID := map[string]*hold{}
	for _, h := range all {
		byID[h.id] = h
	}
	for _, e := range history {
		// Who knows no deadline can't misjudge it, and who looks after it proves nothing.
		if e.Kind != Seen || e.Until == clock.Never || !e.At.Before(e.Until) {
			continue
		}
		keep := map[int]bool{}
		for _, s := range e.Sights {
			if !s.Until.Before(e.Until) {
				keep[s.Master] = true
			}
		}
		for m := 1; m <= masters; m++ {
			if slices.ContainsFunc(broken[m], func(f span) bool { return f.from < e.At && byID[e.ID].begin < f.to }) {
				keep[m] = true
			}
		}
		if len(keep) < masters/2+1 {
			found = append(found, violation("L2", "%s relies on %s until %v, when only %d of %d masters keep it for so long: %v",
				e.ID, e.Name, e.Until, len(keep), masters, e.Sights))
		}
	}
	return found
}

type span struct{ from, to clock.Instant }

// faulty returns when each master had a fault.
func faulty(history []Event) map[int][]span {
	spans := map[int][]span{}
	for _, e := range history {
		switch of := spans[e.Master]; e.Kind {
		case Fault:
			spans[e.Master] = append(of, span{e.At, clock.Never})
		case Mended:
			of[len(of)-1].to = e.At
		default:
		}
	}
	return spans
}

// fences is L4: they are unique, and greater than those of all holds of the name whose Lock
// had returned before this one's was called.
func fences(all []*hold) (found []Violation) {
	for name, holds := range byName(all) {
		owner := map[uint64]*hold{}
		begun := slices.SortedFunc(slices.Values(holds), func(a, b *hold) int { return cmp.Compare(a.begin, b.begin) })
		var greatest *hold // of those that returned before h began
		next := 0          // in holds, which are by return
		for _, h := range begun {
			for ; next < len(holds) && holds[next].held.Before(h.begin); next++ {
				if greatest == nil || holds[next].fence > greatest.fence {
					greatest = holds[next]
				}
			}
			if other := owner[h.fence]; other != nil {
				found = append(found, violation("L4", "%s: %s and %s have the fence %d", name, other.id, h.id, h.fence))
			}
			owner[h.fence] = h
			if greatest != nil && greatest.fence >= h.fence {
				found = append(found, violation("L4", "%s: %s has the fence %d, after %s had %d", name, h.id, h.fence, greatest.id, greatest.fence))
			}
		}
	}
	return found
}

// lost is L5: each entry of the resource stands where its writer expected it, and their
// fences never fall.
func lost(name string, entries []string) (found []Violation) {
	var last uint64
	for i, entry := range entries {
		var at int
		var fence uint64
		if _, err := fmt.Sscan(entry, &at, &fence); err != nil {
			return append(found, violation("L5", "%s[%d] is %q", name, i, entry))
		}
		if at != i {
			found = append(found, violation("L5", "%s[%d] was written by one who had read %d: another's work is lost", name, i, at))
		}
		if fence < last {
			found = append(found, violation("L5", "%s[%d] has the fence %d, after %d", name, i, fence, last))
		}
		last = max(last, fence)
	}
	return found
}

// vacuous is V: what a run must have in it to prove something.
func vacuous(history []Event, all []*hold, c Config) (found []Violation) {
	first := clock.Never // fault
	faults := 0
	for _, e := range history {
		if e.Kind == Fault {
			first = min(first, e.At)
			faults++
		}
	}
	before, clients, contended := 0, map[string]bool{}, 0
	var last = map[string]*hold{}
	for _, h := range all {
		if h.held.Before(first) {
			before++
			clients[h.client] = true
		}
		if l := last[h.name]; l != nil && l.client != h.client && h.begin.Before(l.until) {
			contended++
		}
		last[h.name] = h
	}
	for _, need := range []struct {
		what      string
		got, want int
	}{
		{"acquisitions", len(all), c.Acquisitions},
		{"acquisitions before the first fault", before, 50},
		{"clients with acquisitions before the first fault", len(clients), 2},
		{"acquisitions that had to wait for another process", contended, len(all) / 20},
		{"faults", faults, c.MinFaults},
	} {
		if need.got < need.want {
			found = append(found, violation("V", "only %d %s; %d prove something", need.got, need.what, need.want))
		}
	}
	return found
}

// story returns violations, the first few of each check.
func story(all []Violation) string {
	count := map[string]int{}
	var lines []string
	for _, v := range all {
		if count[v.Check]++; count[v.Check] <= 3 {
			lines = append(lines, v.String())
		}
	}
	for check, n := range count {
		if n > 3 {
			lines = append(lines, fmt.Sprintf("%s: %d in all", check, n))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
