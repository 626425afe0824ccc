package sim

// Rules are what is wrong with a run: the zero value is production. Each is one line away
// from it.
type Rules struct {
	NoDrift          bool // the holder relies on all of the ttl
	FromTheEnd       bool // and counts it from when the votes were in
	NoGrace          bool // keys end when the ttl is over
	NoTTL            bool // or never
	Monotonic        bool // the holder's clock stops in suspend
	OneToken         bool // for all attempts at a lock
	HalfQuorum       bool // half of the masters are enough
	Overwrites       bool // SET without NX
	PlainDEL         bool // a release deletes whatever is there
	ExtendAnybodys   bool // an extension does not look at the token
	ExtendRestores   bool // it sets the key anew if that is gone
	NoContinuity     bool // it may come after the deadline
	MinorityExtends  bool // it needs no majority
	NoTenure         bool // masters that may have forgotten vote
	ByAddress        bool // a master under two addresses votes twice
	TermsApart       bool // what one master knows of another's term is not heeded
	NoWait           bool // tenure is given at once
	ShortWait        bool // or too soon: MaxTTL is less than leases last
	OneProcess       bool // a restart is not noticed
	NoReplid         bool // nor a demotion
	FlushKeepsRecord bool // nor a flush
	NoClockGuard     bool // nor a step of a clock
	TrustsAnyClock   bool // that was not watched before
	NoWriteBack      bool // a fence is not counted up to
	OneKnowsFence    bool // nor known to a majority
	LeastFence       bool // and the least of the numbers
	SameFence        bool // counters do not count
	WritesOnly       bool // reads do not show the resource the fence
	ResourceForgets  bool // which looks at none
}
