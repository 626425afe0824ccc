package sim

// Mutant is production with one thing wrong, and the checks that may find it.
type Mutant struct {
	Name   string
	Rules  Rules
	Checks []string
}

// Mutants are all of them.
func Mutants() []Mutant {
	lock := []string{"L1", "L2"}
	return []Mutant{
		{"no drift", Rules{NoDrift: true}, lock},
		{"validity from the end of the attempt", Rules{FromTheEnd: true}, lock},
		{"no grace", Rules{NoGrace: true}, lock},
		{"votes that come after the deadline", Rules{NoDeadline: true}, lock},
		{"a clock that stops in suspend", Rules{Monotonic: true}, lock},
		{"one token for all attempts", Rules{OneToken: true}, lock},
		{"half of the masters", Rules{HalfQuorum: true}, lock},
		{"masters that may have forgotten vote", Rules{NoTenure: true}, lock},
		{"a vote for each address", Rules{ByAddress: true}, lock},
		{"clocks may be stepped", Rules{NoClockGuard: true}, lock},
		{"any clock is trusted at first sight", Rules{TrustsAnyClock: true}, lock},
		{"the wait for tenure is too short", Rules{ShortWait: true}, lock},
		{"plain DEL", Rules{PlainDEL: true}, lock},
		{"an extension of whatever is there", Rules{ExtendAnybodys: true}, lock},
		{"an extension that shortens", Rules{ExtendShortens: true}, lock},
		{"an extension that puts back what is gone", Rules{ExtendRestores: true}, lock},
		{"an extension by a minority", Rules{MinorityExtends: true}, lock},
		{"an extension after the deadline", Rules{NoContinuity: true}, lock},
		{"a fence that is not written back", Rules{NoWriteBack: true}, []string{"L4", "L5"}},
		{"a fence that one master knows", Rules{OneKnowsFence: true}, []string{"L4", "L5"}},
		{"the least of the fences", Rules{LeastFence: true}, []string{"L4", "L5"}},
		{"the same fence again", Rules{SameFence: true}, []string{"L4", "L5"}},
		{"fences without a floor", Rules{NoFloor: true, NoCovers: true}, []string{"L4", "L5"}},
		{"fences from before the tenure", Rules{NoCovers: true}, []string{"L4", "L5"}},
		{"a resource that looks at no fence", Rules{ResourceForgets: true}, []string{"L5"}},
	}
}
