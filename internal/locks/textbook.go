package locks

// textbook is Redlock as its page describes it, over masters that are believed.
var textbook = recipe{set: setNXPX, unset: delIfOwn, extend: extendIfOwn}

// And with one thing wrong each.
var (
	half     = recipe{set: setNXPX, unset: delIfOwn, extend: extendIfOwn, less: 1}
	noDrift  = recipe{set: setNXPX, unset: delIfOwn, extend: extendIfOwn, noDrift: true}
	oneToken = recipe{set: setNXPX, unset: delIfOwn, extend: extendIfOwn, token: oneForTheCall}
)
