package tenurecheck

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/unraced"
)

const allFaults = RestartEmpty | Restart | RestartCut | Flush | Promote | Demote | DemoteCut | ClockStep

// Every state of these is explored on every run.
var configs = []Config{
	{Name: "one fault, two clients, extensions", Cached: true, Locks: 2, Extends: true, Tails: true, Faults: allFaults, Most: 1, Terms: 2},
	{Name: "one fault, two clients, torn looks", Cached: true, Locks: 2, Torn: true, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "one fault, torn looks, a transition under way", Cached: true, Torn: true, Lates: 1, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "one fault, two transitions under way", Cached: true, Lates: 2, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "one fault, two clients, a transition under way", Cached: true, Locks: 2, Lates: 1, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "failover and flush, two clients", Locks: 2, Faults: Promote | Flush, Most: 2, Terms: 3},
	{Name: "failover and flush, a transition under way", Cached: true, Lates: 1, Faults: Promote | Flush, Most: 2, Terms: 2},
	{Name: "failover and flush, a transition under way, one term more", Lates: 1, Faults: Promote | Flush, Most: 2, Terms: 3},
	{Name: "failover and failover", Cached: true, Faults: Promote, Most: 2, Terms: 3},
	{Name: "two faults", Cached: true, Faults: allFaults, Most: 2, Terms: 2},
	{Name: "two faults, one term more", Faults: allFaults, Most: 2, Terms: 3},
	{Name: "two restarts with data, two clients", Locks: 2, Extends: true, Faults: Restart, Most: 2, Terms: 3},
	{Name: "a seat moves, one fault, two clients with different lists", Moves: true, Locks: 2, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "a seat moves, one fault, torn looks", Moves: true, Torn: true, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "two lists and no operator, one fault, two clients with different lists", Moves: true, Uninvited: true, Locks: 2, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "a seat moves, two faults, a transition under way", Moves: true, Lates: 1, Faults: RestartEmpty | Flush | Restart, Most: 2, Terms: 3},
	{Name: "all have restarted, one fault", Cached: true, Ruins: 3, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "all have restarted, failover, a transition under way", Cached: true, Ruins: 3, Lates: 1, Faults: Promote, Most: 1, Terms: 3},
	{Name: "one has restarted, failover, a transition under way", Ruins: 1, Lates: 1, Faults: Promote, Most: 1, Terms: 2},
}

// These take minutes each, and some gigabytes. Where there is a limit, nothing is broken in
// so many states.
var longConfigs = []Config{
	{Name: "one fault, two clients, extensions, one term more", Cached: true, Locks: 2, Extends: true, Tails: true, Faults: allFaults, Most: 1, Terms: 3},
	{Name: "one has restarted, failover, a transition under way, one term more", Ruins: 1, Lates: 1, Faults: Promote, Most: 1, Terms: 3},
	{Name: "failover and flush, a transition under way, new connections to old masters", Cached: true, Lates: 1, Faults: Promote | Flush, Most: 2, Terms: 3, Limit: 20e6},
	{Name: "one has restarted, failover, a transition under way, new connections to old masters", Ruins: 1, Cached: true, Lates: 1, Faults: Promote, Most: 1, Terms: 3, Limit: 20e6},
	{Name: "three faults", Faults: Promote | Flush | Restart | Demote, Most: 3, Terms: 3},
	{Name: "torn looks, two faults, a transition under way", Torn: true, Lates: 1, Faults: Promote | Flush | Restart, Most: 2, Terms: 3, Limit: 20e6},
	{Name: "two faults, two clients", Locks: 2, Faults: allFaults, Most: 2, Terms: 3},
	{Name: "two faults, two transitions under way", Lates: 2, Faults: allFaults, Most: 2, Terms: 3, Limit: 20e6},
	{Name: "a seat moves, two faults, two clients with different lists", Moves: true, Locks: 2, Faults: RestartEmpty | Flush | Restart, Most: 2, Terms: 4},
	{Name: "two faults, two clients, extensions", Locks: 2, Extends: true, Faults: Promote | Flush | Restart, Most: 2, Terms: 3},
	{Name: "failover and failover, a transition under way, new connections to old masters", Cached: true, Lates: 1, Faults: Promote, Most: 2, Terms: 3, Limit: 20e6},
}

func TestProtocol(t *testing.T) {
	if unraced.Run(t) {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // states are many, and live long
	explore(t, configs)
}

// TestProtocolLong runs if TENURECHECK_LONG is set.
func TestProtocolLong(t *testing.T) {
	if os.Getenv("TENURECHECK_LONG") == "" {
		t.Skip("TENURECHECK_LONG is not set")
	}
	if unraced.Run(t) {
		return
	}
	explore(t, longConfigs)
}

func explore(t *testing.T, configs []Config) {
	t.Helper()
	for _, c := range configs {
		t.Run(c.Name, func(t *testing.T) {
			r := Run(c)
			t.Log(r)
			require.Empty(t, r.Broken)
			assert.True(t, r.Whole || c.Limit > 0)
			assert.Greater(t, r.States, 1000, "nothing happened")
		})
	}
}

// What nobody promises: a majority that is failed over at once, its old masters alive.
func TestLimit(t *testing.T) {
	r := Run(Config{Faults: Promote, Most: 2, Terms: 3, Split: true})
	t.Log(r)
	assert.Contains(t, r.Broken, OneSeat)
}
