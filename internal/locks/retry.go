package locks

import "time"

// retried is single as a class with lock, retryLock and unlock, as many projects have one:
// a prefix, a fixed pause, and one token for the life of the object.
var retried = recipe{
	masters: 1, set: setNXPX, unset: delIfOwn, extend: extendIfOwn,
	prefix: "lock:", pause: 20 * time.Millisecond, token: oneForTheLock,
}
