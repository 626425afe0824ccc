package sim

// Rules are what is wrong with a run: the zero value is production. Each is one line away
// from it, and each must be found.
type Rules struct {
	// Of deadlines.
	NoDrift, FromTheEnd, NoGrace, NoDeadline, Monotonic bool
	// Of votes.
	OneToken, HalfQuorum, NoTenure, ByAddress, NoClockGuard, TrustsAnyClock, ShortWait, NoStoodStill bool
	// Of releases and extensions.
	PlainDEL, ExtendAnybodys, ExtendShortens, ExtendRestores, MinorityExtends, NoContinuity, NeverExtends bool
	// Of fences.
	NoWriteBack, OneKnowsFence, LeastFence, SameFence, NoFloor, NoCovers, ResourceForgets bool
}
