package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumlock/redlock-go/redlock"
)

// What the command finds in its environment.
const (
	nameVar  = "REDLOCK_NAME"
	tokenVar = "REDLOCK_TOKEN"
	ttlVar   = "REDLOCK_TTL_MS"
	fenceVar = "REDLOCK_FENCE" // with --fence
	heldVar  = "REDLOCK_HELD"  // all names that are held around it, as a JSON list
)

// held returns the names that are held by the runs around this one.
func held() []string {
	var names []string
	if json.Unmarshal([]byte(os.Getenv(heldVar)), &names) != nil {
		names = nil // somebody else's variable
	}
	if name := os.Getenv(nameVar); name != "" && !slices.Contains(names, name) {
		names = append(names, name)
	}
	return names
}

// refuseNested refuses a lock that this process's own ancestors hold.
func refuseNested(name string) error {
	if slices.Contains(held(), name) {
		return usage("run %q: this runs under that lock already, and would wait for itself (%s)", name, heldVar)
	}
	return nil
}

// environment is that of the command. Of a variable that is there twice, package
// exec takes the last. The fence of a lock around this one is not this one's.
func (j *job) environment(lease *redlock.Lease) []string {
	names, _ := json.Marshal(append(held(), j.name)) // can't fail: strings
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, fenceVar+"=") })
	if fence := lease.Fence(); fence != 0 {
		env = append(env, fenceVar+"="+strconv.FormatUint(fence, 10))
	}
	return append(env,
		nameVar+"="+j.name,
		tokenVar+"="+lease.Token(),
		ttlVar+"="+strconv.FormatInt(j.ttl.Milliseconds(), 10),
		heldVar+"="+string(names),
	)
}
