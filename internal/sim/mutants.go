package sim

// Mutant is production with something wrong, and the checks that must find it.
type Mutant struct {
	Name   string
	Rules  Rules
	Checks []string
}

// Budget is within how many seeds a mutant must be found.
const Budget = 8000

// Hunt runs seeds until one of a mutant's checks finds it. What other checks find does not
// count, and is told.
func (m Mutant) Hunt(workers int) (s Summary, found bool) {
	const step = 200
	for from := 0; from < Budget && !found; from += step {
		part := Batch(Config{Rules: m.Rules}, uint64(from), step, workers, nil)
		if s.ByCheck == nil {
			s = part
		} else {
			s.merge(part)
		}
		for _, check := range m.Checks {
			found = found || s.ByCheck[check] > 0
		}
	}
	return s, found
}

// Mutants are all of them. (What is wrong with giving tenure, and with the floors of fences,
// is seldom met by chance: internal/tenurecheck and internal/fencecheck find those.)
func Mutants() []Mutant {
	lock, number := []string{"L1", "L2"}, []string{"L4", "L5"}
	memory := []string{"L1", "L2", "L4", "L5"}
	return []Mutant{
		{"no drift", Rules{NoDrift: true}, lock},
		{"validity from the end of the attempt", Rules{FromTheEnd: true}, lock},
		{"no grace", Rules{NoGrace: true}, lock},
		{"keys without a ttl", Rules{NoTTL: true}, []string{"L6"}},
		{"a clock that stops in suspend", Rules{Monotonic: true}, lock},
		{"one token for all attempts", Rules{OneToken: true}, lock},
		{"half of the masters", Rules{HalfQuorum: true}, memory},
		{"SET without NX", Rules{Overwrites: true}, lock},
		{"plain DEL", Rules{PlainDEL: true}, lock},
		{"an extension of whatever is there", Rules{ExtendAnybodys: true}, lock},
		{"an extension that sets anew what had ended", Rules{ExtendRestores: true, NoContinuity: true}, lock},
		{"an extension by a minority", Rules{MinorityExtends: true}, lock},
		{"masters that may have forgotten vote", Rules{NoTenure: true}, memory},
		{"a vote for each address", Rules{ByAddress: true}, memory},
		{"what others know of a term is not heeded", Rules{TermsApart: true}, memory},
		{"no wait before tenure", Rules{NoWait: true}, memory},
		{"a wait that is shorter than leases", Rules{ShortWait: true}, lock},
		{"a restart that nobody notices", Rules{OneProcess: true}, memory},
		{"a demotion that nobody notices", Rules{NoReplid: true}, memory},
		{"a flush that nobody notices", Rules{FlushKeepsRecord: true}, memory},
		{"a step of a clock that nobody notices", Rules{NoClockGuard: true}, lock},
		{"any clock is trusted at first sight", Rules{TrustsAnyClock: true}, lock},
		{"a fence that is not counted up to", Rules{NoWriteBack: true}, number},
		{"a fence that one master knows", Rules{OneKnowsFence: true}, number},
		{"the least of the fences", Rules{LeastFence: true}, number},
		{"the same fence again", Rules{SameFence: true}, number},
		{"a resource that checks writes alone", Rules{WritesOnly: true}, []string{"L5"}},
		{"a resource that checks nothing", Rules{ResourceForgets: true}, []string{"L5"}},
	}
}
