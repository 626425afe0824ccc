//go:build unix && !aix && !solaris

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestInit(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Start(t, 3))
	p := on(t, addrs, "run", "-n", "job", "--", "true")
	require.Equal(t, exitUnsafe, p.code())

	p = on(t, addrs, "init")
	assert.Equal(t, exitUsage, p.code(), "there is no terminal")
	p.says("--yes")
	_, code := examined(t, addrs)
	require.Equal(t, exitUnsafe, code, "nothing was done")

	p = on(t, addrs, "init", "--yes")
	assert.Equal(t, exitOK, p.code())
	assert.Equal(t, "all 3 masters vote: "+strings.Join(addrs, ", ")+"\n", p.stdout())
	assert.Contains(t, p.stderr(), "No lock is held on these masters, by any client, and none is being taken:\n  "+addrs[0]+"\n")
	before, code := examined(t, addrs)
	assert.Equal(t, exitOK, code)
	p = on(t, addrs, "run", "-n", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())

	p = on(t, addrs, "init", "--yes")
	assert.Equal(t, exitOK, p.code())
	p.silent()
	after, _ := examined(t, addrs)
	assert.Equal(t, before.Masters[0].Group, after.Masters[0].Group, "a group that lives is left as it is")
}

func TestInit_IsQuietIfAskedTo(t *testing.T) {
	t.Parallel()
	p := on(t, redistest.Addrs(redistest.Start(t, 3)), "init", "--yes", "--quiet")
	assert.Equal(t, exitOK, p.code())
	p.silent()
}

func TestInit_NeedsAllMasters(t *testing.T) {
	t.Parallel()
	masters := redistest.Start(t, 3)
	masters[2].Kill()
	p := on(t, redistest.Addrs(masters), "init", "--yes", "--quiet")
	assert.Equal(t, exitNoQuorum, p.code())
	p.says("init", masters[2].Addr())
	addrs := redistest.Addrs(masters[:2])
	p = on(t, append(addrs, "127.0.0.1:1"), "init", "--yes", "--quiet")
	assert.Equal(t, exitNoQuorum, p.code())
	assert.Empty(t, p.stdout())
}

// Who holds a lock on three masters is not known to five: init is for when nobody does.
func TestInit_OfMoreMasters(t *testing.T) {
	t.Parallel()
	_, three := founded(t, 3)
	five := append(slices.Clone(three), redistest.Addrs(redistest.Start(t, 2))...)
	p := on(t, five, "run", "-n", "job", "--", "true")
	assert.Equal(t, exitUnsafe, p.code())
	p = on(t, five, "init", "--yes")
	assert.Equal(t, exitOK, p.code(), p.stderr())
	_, code := examined(t, five)
	assert.Equal(t, exitOK, code)
	p = on(t, three, "run", "-n", "job", "--", "true")
	assert.Equal(t, exitUnsafe, p.code(), "a client that was forgotten must not get a lock")
	p.says("it is one of 5 masters, and this client has a list of 3")
}

// One that remembers among those that do not is no group, and must not be in the way of one.
func TestInit_WhereMostForgot(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3)
	before, _ := examined(t, addrs)
	masters[0].FlushAll()
	masters[1].Restart()
	p := on(t, addrs, "doctor")
	assert.Equal(t, exitUnsafe, p.code())
	assert.Contains(t, p.stdout(), "\nnot fit: 1 of 3 masters vote, and it takes 2: nobody gets a lock: too few of these masters know")
	began := time.Now()
	p = on(t, addrs, "init", "--yes")
	assert.Equal(t, exitOK, p.code(), p.stderr())
	assert.Contains(t, p.stderr(), "1 of them votes already.")
	assert.Less(t, time.Since(began), brief, "an operator's word is not waited for")
	after, code := examined(t, addrs)
	assert.Equal(t, exitOK, code)
	assert.NotEqual(t, before.Masters[2].Group, after.Masters[2].Group)
}

func TestReplace(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3)
	fresh := redistest.Start(t, 1)[0].Addr()
	list := []string{addrs[0], addrs[1], fresh}
	masters[2].Kill()

	p := on(t, addrs, "replace", addrs[2], fresh)
	assert.Equal(t, exitUsage, p.code(), "there is no terminal")
	p.says("--yes")

	began := time.Now()
	p = on(t, addrs, "replace", addrs[2], fresh, "--yes")
	assert.Equal(t, exitOK, p.code(), p.stderr())
	assert.GreaterOrEqual(t, time.Since(began), brief, "it votes too early")
	assert.Equal(t, fresh+" votes instead of "+addrs[2]+"; give all clients this list: "+strings.Join(list, ",")+"\n", p.stdout())
	for _, part := range []string{fresh + " is empty", addrs[2] + " is out for good", "votes in about 2.7s"} {
		assert.Contains(t, p.stderr(), part)
	}
	got, code := examined(t, list)
	assert.Equal(t, exitOK, code)
	assert.Equal(t, 3, got.Masters[2].Seat)
	assert.EqualValues(t, 2, got.Masters[2].Term)

	p = on(t, list, "replace", addrs[2], fresh, "--yes", "--quiet")
	assert.Equal(t, exitOK, p.code(), "again, with the new list")
	p.silent()
	masters[2].Restart() // empty, at its old address
	got, code = examined(t, addrs)
	assert.Equal(t, exitUnsafe, code)
	assert.False(t, got.Masters[2].Votes)
	assert.Contains(t, strings.Join(got.Masters[2].Problems, " "), "redlock replace")
	p = on(t, addrs, "replace", addrs[2], redistest.Start(t, 1)[0].Addr(), "--yes", "--quiet")
	assert.Equal(t, exitUnsafe, p.code(), "somebody else has replaced it")
	p.says("replace", addrs[2])
}

func TestReplace_GoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	_, addrs := founded(t, 3)
	fresh := redistest.Start(t, 1)[0].Addr()
	list := []string{addrs[0], addrs[1], fresh}
	p := on(t, addrs, "replace", addrs[2], fresh, "--yes", "--quiet")
	eventually(t, func() bool {
		got, _ := examined(t, list)
		return got.Masters[2].WaitMS > 0
	}, "the wait")
	p.signal(unix.SIGTERM)
	assert.Equal(t, 128+15, p.code())
	p.says("what was begun goes on")
	fitAgain(t, list)
}

func TestReplace_ByTwoOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3)
	masters[2].Kill()
	fresh := redistest.Addrs(redistest.Start(t, 2))
	var operators []*process
	for _, f := range fresh {
		operators = append(operators, on(t, addrs, "replace", addrs[2], f, "--yes", "--quiet"))
	}
	codes := []int{operators[0].code(), operators[1].code()}
	winner := slices.Index(codes, exitOK)
	require.NotEqual(t, -1, winner, "%v", codes)
	assert.Equal(t, exitUnsafe, codes[1-winner], operators[1-winner].stderr())
	_, code := examined(t, []string{addrs[0], addrs[1], fresh[winner]})
	assert.Equal(t, exitOK, code)
	_, code = examined(t, []string{addrs[0], addrs[1], fresh[1-winner]})
	assert.Equal(t, exitUnsafe, code)
}

// Passwords are in the list, and not in the arguments: NEW is reached as OLD is.
func TestReplace_OfMastersWithPasswords(t *testing.T) {
	t.Parallel()
	masters := redistest.Start(t, 4)
	list := ""
	for i, m := range masters {
		require.NoError(t, m.Client().Do(t.Context(), "acl", "setuser", "locks", "on", ">hunter2", "~*", "&*", "+@all").Err())
		if i < 3 {
			list += " redis://locks:hunter2@" + m.Addr()
		}
	}
	operate := func(args ...string) *process {
		return start(t, func(c *exec.Cmd) { c.Env = append(c.Env, mastersVar+"="+list) },
			append([]string{"--yes", "--quiet", "--max-ttl", brief.String()}, args...)...)
	}
	require.Equal(t, exitOK, operate("init").code())
	for _, m := range masters { // now nobody gets in without
		require.NoError(t, m.Client().Do(t.Context(), "acl", "setuser", "default", "-@all", "+acl").Err())
	}
	p := operate("replace", masters[2].Addr(), masters[3].Addr())
	assert.Equal(t, exitOK, p.code(), p.stderr())
	assert.NotContains(t, p.stdout()+p.stderr(), "hunter2")
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	list := []string{"a:1", "redis://u:p%23w@B:2/3", "c:3"}
	for _, tt := range []struct {
		from, to string
		want     []string
		err      string
	}{
		{"a:1", "d:4", []string{"d:4", "redis://u:p%23w@B:2/3", "c:3"}, ""},
		{"b:2", "d:4", []string{"a:1", "redis://u:p%23w@d:4/3", "c:3"}, ""},
		{"redis://b:2", "redis://d:4", []string{"a:1", "redis://d:4", "c:3"}, ""},
		{"d:4", "B:2", list, ""},
		{"a:1", "A:1", nil, "both a:1"},
		{"a:1", "c:3", nil, "both a:1 and c:3"},
		{"d:4", "e:5", nil, "neither d:4 nor e:5"},
	} {
		got, err := replaced(list, tt.from, tt.to)
		if tt.err == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, tt.err)
		}
		assert.Equal(t, tt.want, got)
	}
	assert.Equal(t, "redis://u:p%23w@B:2/3", list[1], "the old list is left as it is")
}

func TestOperators_AreRefusedWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"init --yes a":                            "no arguments",
		"doctor a":                                "no arguments",
		"init --yes --embedded":                   "in memory",
		"init --yes --unguarded":                  "--unguarded",
		"init --yes":                              mastersVar,
		"doctor":                                  mastersVar,
		"replace --yes a:1":                       "OLD and NEW",
		"replace --yes a:1 b:2 --embedded":        "in memory",
		"replace --yes a:1 b:2 --unguarded":       "--unguarded",
		"replace --yes a:1 redis://:p@b:2":        "password",
		"replace --yes a:1 b:2 --masters c:3":     "neither",
		"replace --yes a:1 b --masters a:1":       "host:port",
		"replace --yes a:1 a:1 --masters a:1":     "both",
		"init --yes --masters a:1,b,c:3":          "host:port",
		"init --yes --masters redis://:p@b:2":     "password",
		"doctor --masters a:1,b:2 --masters-file": "masters-file",
	} {
		p := start(t, nil, strings.Fields(args)...)
		assert.Equal(t, exitUsage, p.code(), args)
		p.says(says)
	}
	p := start(t, func(c *exec.Cmd) { c.Env = append(c.Env, unguardedVar+"=perhaps") }, "doctor", "--masters", "127.0.0.1:1")
	assert.Equal(t, exitUsage, p.code())
	p.says(unguardedVar)
	p = start(t, nil, "init", "--yes", "--masters", "127.0.0.1:1,127.0.0.1:1")
	assert.Equal(t, exitUnsafe, p.code())
	p.says("must not vote twice")
}
