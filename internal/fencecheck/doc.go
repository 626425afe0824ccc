// Package fencecheck explores every state that masters and clients can get into with fences
// (quorum.Fence), within bounds, and drives the very code that production runs.
//
//  1. A state is three masters with their keys, counters and floors, what each client has
//     heard, and how far the recovery of a master has come that forgot.
//  2. A step is one command at one master, one reply, one end of a key, one fault, or one
//     client's giving up. A command may be executed at any time after it was sent, also when
//     nobody waits for it any more, and its reply may be lost. Keys may end at any moment:
//     no order rests on a clock.
//  3. States are explored breadth first, each once. Those that differ by the masters' names
//     only are one. So the first trace to what is broken is a shortest one.
//  4. When a client has its fence, it must be greater than all that were there, for the same
//     name, before the client began, and no other's.
//
// A master that forgets has no tenure until the protocol of package tenure gives it back. Of
// that, what matters here is kept: nothing that was going on when the others learned of it
// is going on any more when they are read, and a majority of them is read. What the master
// itself still has may be anything between nothing and all (an old file, a stale replica).
//
// What a master does is written here in Go and held against its script in
// TestMastersDoAsTheirScripts. What the check must find is in mutants_test.go: the same code
// with one thing wrong.
//
// Not explored: more than three masters, a majority that forgets at once.
package fencecheck
