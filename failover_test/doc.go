// Package failover breaks real masters under the lock and looks at what must hold.
// It has tests only.
//
// Each test says in its name what is lost and what must hold, and runs on both kinds of
// masters: processes of this machine, and containers. The faults come from
// internal/redistest and internal/redistest/containers, which fail the test if a fault
// did not happen.
package failover
