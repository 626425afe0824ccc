// Package sim runs clients and masters in virtual time, on one goroutine, with all chance
// from one seed, under the pure core that production runs: rounds, deadlines, fences,
// extensions, the guard, tenure, and when to try again (packages quorum, quorum/guard and
// quorum/tenure). A run of a seed is the same each time, to the last bit.
//
// What production does in goroutines and over sockets is modelled here:
//
//	server.go   a master: what the scripts do, its clock, its process and its memory
//	link.go     a client's connection to a master: order, delay, loss, time-outs, what is
//	            executed late, and the kill of a predecessor
//	client.go   a client process and its questions (redlock/question.go)
//	lock.go     attempt, hold, extension and release (redlock/redlock.go, hold.go, fence.go)
//	keeper.go   who looks after masters without tenure (redlock/keeper.go, tending.go)
//
// A test holds the model of a master against a real one, command by command.
//
// Each seed switches on some of the faults. In-model are those that README promises to
// survive: the lock must exclude, and its fences grow. Out-of-model are clocks and pauses
// beyond that: the fences must grow all the same.
package sim
