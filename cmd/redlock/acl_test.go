//go:build unix && !aix && !solaris

package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// The line in the manual is enough, and none of it is too much.
func TestACL_IsTheLeastThatWorks(t *testing.T) {
	t.Parallel()
	line := aclLine(t)
	masters := redistest.Start(t, 4)
	var urls []string
	for _, m := range masters {
		var rule []any
		for _, word := range strings.Fields(line) {
			rule = append(rule, word)
		}
		require.NoError(t, m.Client().Do(t.Context(), rule...).Err())
		require.NoError(t, m.Client().ConfigResetStat(t.Context()).Err())
		urls = append(urls, "redis://redlock:PASSWORD@"+m.Addr())
	}
	// The first cuts idle connections: their successors kill them.
	require.NoError(t, masters[0].Client().ConfigSet(t.Context(), "timeout", "1").Err())
	list := urls[:3]
	restricted := func(args ...string) *process {
		return start(t, func(c *exec.Cmd) { c.Env = append(c.Env, mastersVar+"="+strings.Join(list, " ")) },
			append([]string{"--quiet", "--prefix", "app:", "--max-ttl", "6s"}, args...)...)
	}
	succeeds := func(args ...string) *process {
		p := restricted(args...)
		require.Equal(t, exitOK, p.code(), "%v: %s", args, p.stderr()+p.stdout())
		p.silent()
		return p
	}
	succeeds("init", "--yes")
	assert.Contains(t, succeeds("doctor").stdout(), "fit: all 3 masters vote")

	a, argv := newActor(t)
	holder := restricted(append([]string{"run", "job"}, argv...)...)
	a.ready()
	waiter := restricted("run", "--fence", "job", "--", "true")
	assert.Contains(t, succeeds("status", "job").stdout(), "held by")
	// It is extended twice, where one connection was cut between.
	require.NoError(t, clock.Sleep(t.Context(), clock.System, clock.System.Now().Add(5*time.Second)))
	a.end()
	assert.Equal(t, 42, holder.code(), holder.stderr())
	holder.silent()
	assert.Equal(t, exitOK, waiter.code(), waiter.stderr())
	waiter.silent()
	succeeds("unlock", "job", "--force", "--yes")

	waitForTwo(t, list)

	succeeds("replace", masters[2].Addr(), masters[3].Addr(), "--yes")
	list = []string{urls[0], urls[1], urls[3]}
	assert.Contains(t, succeeds("doctor").stdout(), "fit: all 3 masters vote")
	for _, m := range masters {
		assert.Subset(t, []string{"config|get"}, denied(t, m), "what doctor can do without")
	}
	assert.Subset(t, append(used(t, masters[0]), used(t, masters[1])...), granted(line), "what is granted is needed")
}

// waitForTwo has a client wait for two names, and give up one of them: then it must stop
// to listen for that alone.
func waitForTwo(t *testing.T, masters []string) {
	t.Helper()
	c, err := redlock.New(redlock.Options{Masters: masters, Prefix: "app:", MaxTTL: 6 * time.Second})
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	holder, err := redlock.New(redlock.Options{Masters: masters, Prefix: "app:", MaxTTL: 6 * time.Second})
	require.NoError(t, err)
	defer func() { _ = holder.Close() }()
	var leases []*redlock.Lease
	for _, name := range []string{"one", "two"} {
		lease, err := holder.TryLock(t.Context(), name, 6*time.Second)
		require.NoError(t, err)
		leases = append(leases, lease)
	}
	two := make(chan error)
	go func() {
		_, err := c.Lock(t.Context(), "two", 6*time.Second)
		two <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = c.Lock(ctx, "one", 6*time.Second)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for _, lease := range leases {
		require.NoError(t, lease.Release(t.Context()))
	}
	require.NoError(t, <-two)
}

// aclLine returns the line of the manual.
func aclLine(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^ACL SETUSER .*$`).FindAllString(string(text), -1)
	require.Len(t, found, 1)
	return found[0]
}

// granted returns the commands that a line grants.
func granted(line string) []string {
	var all []string
	for _, word := range strings.Fields(line) {
		if command, ok := strings.CutPrefix(word, "+"); ok {
			all = append(all, command)
		}
	}
	return all
}

// denied returns what a master refused to the user.
func denied(t *testing.T, m *redistest.Master) []string {
	t.Helper()
	log, err := m.Client().ACLLog(t.Context(), 100).Result()
	require.NoError(t, err)
	var all []string
	for _, entry := range log {
		if !slices.Contains(all, entry.Object) {
			all = append(all, entry.Object)
		}
	}
	return all
}

// used returns the commands that a master executed.
func used(t *testing.T, m *redistest.Master) []string {
	t.Helper()
	info, err := m.Client().Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	var all []string
	for _, command := range regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=[1-9]`).FindAllStringSubmatch(info, -1) {
		all = append(all, command[1])
	}
	return all
}
