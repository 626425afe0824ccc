// Package chaos breaks real masters, and real client processes, at random under a lock, and
// judges from a history whether the lock kept its promise.
//
// A run has five masters, each behind a proxy that is its network; a resource that no fault
// reaches; and client processes that lock, hold, overrun, and die. Every process stamps what
// it does with the time since the machine's boot, which all of them share. Then each check
// reads the history:
//
//	L1  no two holders of a name at once, as far as each could believe
//	L2  validity is never overestimated: enough masters keep the token until the deadline
//	L3  the history is one of a lock with leases and fences (porcupine)
//	L4  fences are unique, and greater than all that were handed out before
//	L5  nothing is lost or out of order at a resource that checks the fences
//	L6  after the faults everybody gets in, and no key is left behind
//	V   the run proves something: there were acquisitions, contention and faults
//
// A run is given by its seed: the same faults in the same order, though not at the same
// instant of the clients' work. A run that fails leaves its history, a drawing of it, and
// the command that repeats it.
package chaos
