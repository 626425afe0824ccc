//go:build unix && !aix && !solaris

package main

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/redistest"
)

// The ttl of tests that wait until a lock is lost: long enough for a machine that is
// busy with other tests, to do what comes before the first extension.
const (
	lostTTL   = 6 * time.Second
	lostGrace = time.Second
)

func TestMajorityGone_TheGroupIsDeadBeforeTheLockIsAnothers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault  func(*redistest.Master)
		policy policy
		traits []string
	}{
		"killed, and all ignore TERM": {(*redistest.Master).Kill, terminate, []string{"stubborn", "parent"}},
		"hung, and all ignore TERM":   {(*redistest.Master).Stop, terminate, []string{"stubborn", "parent"}},
		"killed, and all obey":        {(*redistest.Master).Kill, terminate, []string{"plain", "parent"}},
		"hung, no TERM":               {(*redistest.Master).Stop, kill, []string{"parent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := initialised(t, 5)
			addrs := redistest.Addrs(masters)
			file := inTemp(t, "end.json")
			a, argv := newActor(t, tt.traits...)
			p := redlockRun(t, addrs, append([]string{
				"--ttl", lostTTL.String(), "--kill-grace", lostGrace.String(), "--on-lost", tt.policy.String(),
				"--json", file, "job",
			}, argv...)...)
			a.ready()
			end := validUntil(t, addrs)
			for _, m := range masters[:3] {
				tt.fault(m)
			}

			assert.Equal(t, exitLost, p.code())
			gone := clock.System.Now()
			assert.Less(t, a.pulse(), end, "the command outlived the lock")
			assert.Less(t, a.child().pulse(), end, "its child outlived the lock")
			a.dead()
			a.child().dead()
			assert.Less(t, gone, end.Add(clock.Grace), "it took too long to end") // no release delays it
			p.says(`run "job"`, "could not be extended in time", masters[0].Addr(), masters[1].Addr(), masters[2].Addr())
			if tt.policy == kill {
				assert.Empty(t, a.got())
			}
			got := reported(t, file)
			assert.Equal(t, lost, got.Outcome)
			assert.Equal(t, exitLost, got.ExitCode)
			assert.Len(t, got.Votes, 5)
			assert.NotNil(t, got.CommandCode)
		})
	}
}

// validUntil returns when the validity of the lock "job" ends, which was not extended yet, by
// what a majority of the masters says of its keys.
func validUntil(t *testing.T, addrs []string) clock.Instant {
	t.Helper()
	now := clock.System.Now()
	holdings, err := newClient(t, addrs).Inspect(t.Context(), "job")
	require.NoError(t, err)
	v := judge(holdings)
	require.Equal(t, stateHeld, v.state)
	require.Greater(t, v.atLeast, lostTTL*3/4, "it took too long to begin: the lock was about to be extended")
	return now.Add(v.atLeast)
}

func TestTERM_ComesKillGraceBeforeTheEnd(t *testing.T) {
	t.Parallel()
	masters := initialised(t, 3)
	addrs := redistest.Addrs(masters)
	a, argv := newActor(t, "parent") // notes TERM, and goes on
	p := redlockRun(t, addrs, append([]string{"--ttl", lostTTL.String(), "--kill-grace", "2s", "job"}, argv...)...)
	a.ready()
	end := validUntil(t, addrs)
	masters[0].Kill()
	masters[1].Kill()
	eventually(t, func() bool { return slices.Contains(a.got(), "SIGTERM") && slices.Contains(a.child().got(), "SIGTERM") }, "TERM")
	assert.Less(t, clock.System.Now(), end.Add(-time.Second), "TERM came late")
	a.end() // obeys in the end, and returns what it likes
	assert.Equal(t, exitLost, p.code())
	assert.Less(t, clock.System.Now(), end)
}

func TestMastersBackInTime_TheLockIsKept(t *testing.T) {
	t.Parallel()
	masters := initialised(t, 5)
	a, argv := newActor(t)
	p := redlockRun(t, redistest.Addrs(masters), append([]string{"--ttl", "10s", "--kill-grace", "1s", "job"}, argv...)...)
	a.ready()
	for _, m := range masters[:3] {
		m.Stop()
	}
	// Past the first try to extend, at a third of the ttl.
	require.NoError(t, clock.Sleep(t.Context(), clock.System, clock.System.Now().Add(4*time.Second)))
	for _, m := range masters[:3] {
		m.Cont()
	}
	// Past the end of the first validity.
	require.NoError(t, clock.Sleep(t.Context(), clock.System, clock.System.Now().Add(7*time.Second)))
	a.beats()
	a.end()
	assert.Equal(t, 42, p.code())
	p.silent()
}

func TestTakenAway_EndsTheCommandAtOnce(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	a, argv := newActor(t, "stubborn", "parent")
	p := redlockRun(t, addrs, append([]string{"--ttl", "4s", "--kill-grace", "500ms", "job"}, argv...)...)
	a.ready()
	takeAway(t, addrs)
	assert.Equal(t, exitLost, p.code())
	p.says("was taken away", addrs[0])
	a.dead()
	a.child().dead()
}

func TestTakenAwayWithWarn_TheCommandGoesOn(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	file := inTemp(t, "end.json")
	a, argv := newActor(t)
	p := redlockRun(t, addrs, append([]string{"--ttl", "4s", "--on-lost", "warn", "--json", file, "job"}, argv...)...)
	a.ready()
	takeAway(t, addrs)
	eventually(t, func() bool { return p.stderr() != "" }, "the warning")
	a.beats()
	a.end()
	assert.Equal(t, exitLost, p.code())
	p.says("was taken away", "goes on")
	got := reported(t, file)
	assert.Equal(t, lost, got.Outcome)
	assert.Equal(t, 42, *got.CommandCode)
	assert.NotEmpty(t, got.Reason)
}

// The command ends before the next extension could tell: the release does.
func TestTakenAwayUnnoticed_IsLostAllTheSame(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	a, argv := newActor(t)
	p := redlockRun(t, addrs, append([]string{"--ttl", "30s", "job"}, argv...)...)
	a.ready()
	takeAway(t, addrs)
	a.end()
	assert.Equal(t, exitLost, p.code())
	p.says("was taken away", "had run under it")
}

// takeAway frees the lock "job", whoever holds it, and takes it.
func takeAway(t *testing.T, addrs []string) {
	t.Helper()
	c := newClient(t, addrs)
	holdings, err := c.Inspect(t.Context(), "job")
	require.NoError(t, err)
	require.NoError(t, c.Unlock(t.Context(), "job", judge(holdings).token))
	_, err = c.TryLock(context.WithoutCancel(t.Context()), "job", 30*time.Second)
	require.NoError(t, err)
}

func TestWhatTheCommandLeftBehind_IsDeadBeforeTheLockIsFree(t *testing.T) {
	t.Parallel()
	for name, traits := range map[string][]string{
		"plain":    {"leaver", "plain"},
		"stubborn": {"leaver", "stubborn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs := fiveEmbedded(t)
			a, argv := newActor(t, traits...)
			p := redlockRun(t, addrs, append([]string{"--kill-grace", "500ms", "job"}, argv...)...)
			a.ready()
			soon, cancel := context.WithTimeout(t.Context(), redistest.Patience)
			defer cancel()
			_, err := newClient(t, addrs).Lock(soon, "job", 30*time.Second)
			free := clock.System.Now()
			require.NoError(t, err)
			assert.Less(t, a.child().pulse(), free)
			assert.Equal(t, 3, p.code())
			assert.Less(t, a.child().pulse(), free, "it lived on when the lock was free")
			a.child().dead()
			p.silent()
		})
	}
}

func TestReleaseThatFindsNoQuorum_IsNoFailureOfTheCommand(t *testing.T) {
	t.Parallel()
	masters := initialised(t, 3)
	a, argv := newActor(t)
	p := redlockRun(t, redistest.Addrs(masters), append([]string{"--ttl", "30s", "job"}, argv...)...)
	a.ready()
	masters[0].Kill()
	masters[1].Kill()
	a.end()
	assert.Equal(t, 42, p.code())
	p.says("release", masters[0].Addr(), masters[1].Addr(), "ends within")
}
