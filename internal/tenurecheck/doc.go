// Package tenurecheck explores every state that masters and clients can get into with the
// protocol of package tenure, within bounds, and drives the very code that production runs.
//
//  1. A state is three to five processes of masters with their records and keys, what a
//     replica or a disk has kept of one of them, two clients that lock, one look at the
//     masters, up to two transitions under way, and the number of faults so far.
//  2. A step is one master's command, one reply, one fault, or the end of something. What
//     a client sends is executed at once, much later ([Config].Lates), or never: so a
//     client may stop anywhere. Nothing is kept from one look to the next: so each look
//     may be another client's.
//  3. States are explored breadth first, each once. Those that differ by names only are
//     one. So the first trace to what is broken is a shortest one.
//  4. In every state the properties must hold ([Excludes] and those after it). From every
//     set of masters, if faults stop, the protocol must come to rest, with all masters in
//     tenure that can be.
//
// There is no clock. A wait that began at some instant is over when every round and every
// look is over that was going on at that instant, and not before: that is all that a wait
// promises. How long they take is left open, so every order is explored.
//
// What it must find is in mutants_test.go: the same code with one thing wrong.
//
// Not explored: more than three seats, clocks that nobody can see stepping, fences.
package tenurecheck
