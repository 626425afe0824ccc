//go:build unix && !aix && !solaris

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/redistest"
)

func TestExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		argv []string
		want int
	}{
		{"success", []string{"actor", "exit", "0"}, 0},
		{"failure", []string{"actor", "exit", "7"}, 7},
		{"one of redlock's own", []string{"actor", "exit", "75"}, 75},
		{"all bits", []string{"actor", "exit", "255"}, 255},
		{"what follows -- is no flag", []string{"sh", "-c", "exit $#", "-n", "-n", "--ttl"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, nil, append([]string{"run", "--embedded", "job", "--"}, tt.argv...)...)
			assert.Equal(t, tt.want, p.code())
			p.silent()
		})
	}
}

func TestSignalThatEndsTheCommand_Is128PlusN(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "run", "--embedded", "job", "--", "sh", "-c", "kill -9 $$")
	assert.Equal(t, 128+9, p.code())
	p.says(`run "job"`, "signal 9")
}

func TestCommandThatCannotStart_IsFoundBeforeTheLockIsTaken(t *testing.T) {
	t.Parallel()
	plain := inTemp(t, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("hello"), 0o600))
	for _, tt := range []struct {
		command string
		want    int
	}{
		{"no-such-command", exitNotFound},
		{"/no/such/command", exitNotFound},
		{plain, exitNotExecuted},
		{t.TempDir(), exitNotExecuted},
	} {
		// The masters are not there: asking them would be another error.
		p := start(t, nil, "run", "--masters", "127.0.0.1:1", "job", "--", tt.command)
		assert.Equal(t, tt.want, p.code(), tt.command)
		p.says(tt.command)
	}
}

func TestCommandThatTheKernelRefuses_IsNotExecuted(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	bad := inTemp(t, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("no program"), 0o700))
	p := redlockRun(t, addrs, "job", "--", bad)
	assert.Equal(t, exitNotExecuted, p.code())
	p.says("format")
	assertFree(t, addrs, "job")
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		says string
	}{
		{"run job -- true", "--embedded"},
		{"run --embedded job true", "NAME -- CMD"},
		{"run --embedded job --", "NAME -- CMD"},
		{"run --embedded -- true", "NAME"},
		{"run --embedded job other -- true", "one NAME"},
		{"run --embedded --masters a:1 job -- true", "embedded"},
		{"run --embedded --ttl 31s job -- true", "--max-ttl"},
		{"run --embedded --ttl 1ms job -- true", "--ttl"},
		{"run --embedded --wait -1s job -- true", "--wait"},
		{"run --embedded --wait 1s -n job -- true", "no-wait"},
		{"run --embedded -E 256 job -- true", "-E"},
		{"run --embedded --kill-grace -1s job -- true", "--kill-grace"},
		{"run --embedded --ttl 10s --kill-grace 5s job -- true", "at most"},
		{"run --embedded --on-lost panic job -- true", "term, kill or warn"},
		{"run --embedded --json /no/such/dir/file job -- true", "--json"},
		{"run --masters-file /no/such/file job -- true", "--masters-file"},
		{"run --masters a,b job -- true", "host:port"},
		{"run --no-such-flag", "no-such-flag"},
		{"no-such-command", "no-such-command"},
		{"status --embedded", "NAME"},
		{"unlock --embedded job", "--token"},
		{"unlock --embedded job --yes --token t", "--yes"},
		{"unlock --embedded job --force", "--yes"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			p := start(t, nil, strings.Fields(tt.args)...)
			assert.Equal(t, exitUsage, p.code())
			p.says(tt.says)
		})
	}
}

func TestDefaultKillGrace_IsCutToTheTTL(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "run", "--embedded", "--ttl", "1s", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	p.silent()
}

func TestSameMasterTwice_IsAnUnsafeConfiguration(t *testing.T) {
	t.Parallel()
	p := redlockRun(t, []string{"127.0.0.1:7001", "127.0.0.1:7001", "127.0.0.1:7003"}, "job", "--", "true")
	assert.Equal(t, exitUnsafe, p.code())
	p.says("127.0.0.1:7001")
}

func TestNoQuorum(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	few := []string{addrs[0], addrs[1], "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}
	for _, wait := range []string{"0", "300ms"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			p := redlockRun(t, few, "--quiet", "--wait", wait, "-E", "9", "job"+wait, "--", "true")
			assert.Equal(t, exitNoQuorum, p.code())
			p.says("no quorum", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
			assertFree(t, addrs, "job"+wait)
		})
	}
}

func TestHeldByAnother(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags string
		want  int
		says  string
	}{
		{"-n", exitNotAcquired, "held by another"},
		{"--wait 0", exitNotAcquired, "held by another"},
		{"--wait 300ms", exitNotAcquired, "not acquired within 300ms: held by another"},
		{"-n -E 9", 9, "held by another"},
		{"-n -E 0", 0, "held by another"},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			addrs := fiveEmbedded(t)
			hold(t, addrs)
			file := inTemp(t, "end.json")
			args := append(strings.Fields(tt.flags), "--quiet", "--json", file, "job", "--", "touch", file+".ran")
			p := redlockRun(t, addrs, args...)
			assert.Equal(t, tt.want, p.code())
			p.says(tt.says, "lock \"job\"", addrs[0], addrs[4])
			assert.NoFileExists(t, file+".ran")
			got := reported(t, file)
			assert.Equal(t, notAcquired, got.Outcome)
			assert.Equal(t, tt.want, got.ExitCode)
			assert.Len(t, got.Votes, 5)
			assert.Nil(t, got.HeldFor)
		})
	}
}

func TestWait_EndsWithTheHolder(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	lease := hold(t, addrs)
	p := redlockRun(t, addrs, "job", "--", "actor", "exit", "5")
	// The holder's ttl is 30 s: a moment ago.
	eventually(t, func() bool { return strings.Contains(p.stderr(), "\n") }, "the line of who waits")
	p.says(`waiting for "job": held by another, who has 2`, "s left")
	require.NoError(t, lease.Release(t.Context()))
	assert.Equal(t, 5, p.code())
	p.says("waiting")
}

func TestQuietWait_SaysNothing(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	lease := hold(t, addrs)
	time.AfterFunc(300*time.Millisecond, func() { _ = lease.Release(t.Context()) })
	p := redlockRun(t, addrs, "--quiet", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	p.silent()
}

func TestWarnings_AreSaidUnlessQuiet(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	p := redlockRun(t, addrs[:2], "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	p.says("odd number")
	p = redlockRun(t, addrs[:2], "--quiet", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	p.silent()
}

func TestVerbose_TellsTheStory(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	p := redlockRun(t, addrs, "--verbose", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	for _, part := range []string{"trying", ": granted", "held for", "started", "released"} {
		assert.Contains(t, p.stderr(), part)
	}
}

func TestEnvironment_IsSetAfterTheInheritedOne(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	p := start(t, func(c *exec.Cmd) {
		c.Env = append(c.Env, mastersVar+"="+strings.Join(addrs, " "))
	}, "run", "outer", "--", "redlock", "run", "--ttl", "5s", "inner", "--", "actor", "print", nameVar, ttlVar, tokenVar, heldVar)
	assert.Equal(t, exitOK, p.code())
	p.silent()
	assert.Contains(t, p.stdout(), nameVar+"=inner\n")
	assert.Contains(t, p.stdout(), ttlVar+"=5000\n")
	assert.Regexp(t, tokenVar+"=[0-9a-f-]{36}\n", p.stdout())
	assert.Contains(t, p.stdout(), heldVar+`=["outer","inner"]`+"\n")
}

func TestNestedRunOfTheSameName_IsRefused(t *testing.T) {
	t.Parallel()
	addrs := strings.Join(fiveEmbedded(t), ",")
	nest := func(name string) []string { return []string{"redlock", "run", "--masters", addrs, name, "--"} }
	for _, names := range [][]string{{"a", "a"}, {"a", "b", "a"}, {"a", "b", "c", "b"}} {
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			t.Parallel()
			var argv []string
			for _, name := range names {
				argv = append(argv, nest(name+t.Name())...)
			}
			p := start(t, nil, append(argv[1:], "true")...)
			assert.Equal(t, exitUsage, p.code())
			p.says("would wait for itself")
		})
	}
	t.Run("by REDLOCK_NAME alone", func(t *testing.T) {
		t.Parallel()
		p := start(t, func(c *exec.Cmd) { c.Env = append(c.Env, nameVar+"=x") }, append(nest("x")[1:], "true")...)
		assert.Equal(t, exitUsage, p.code())
		p.says("would wait for itself")
	})
}

func TestStdin_IsTheCommands(t *testing.T) {
	t.Parallel()
	path := inTemp(t, "input")
	require.NoError(t, os.WriteFile(path, []byte("to the command\n"), 0o600))
	p := start(t, func(c *exec.Cmd) {
		input, err := os.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = input.Close() })
		c.Stdin = input
	}, "run", "--embedded", "job", "--", "actor", "cat")
	assert.Equal(t, exitOK, p.code())
	assert.Equal(t, "to the command\n", p.stdout())
}

func TestMastersFile(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	path := inTemp(t, "masters")
	text := "# ours\n" + strings.Join(addrs, "\n") + " # the last\n\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	p := start(t, nil, "run", "--masters-file", path, "--verbose", "job", "--", "true")
	assert.Equal(t, exitOK, p.code(), p.stderr())
	assert.GreaterOrEqual(t, strings.Count(p.stderr(), ": granted"), 3, p.stderr()) // by a majority of five
}

func TestReport(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	for _, tt := range []struct {
		name string
		argv []string
		want report
	}{
		{"success", []string{"true"}, report{Outcome: ended}},
		{"failure", []string{"actor", "exit", "7"}, report{Outcome: ended, ExitCode: 7}},
		{"signal", []string{"sh", "-c", "kill -15 $$"}, report{Outcome: signalled, ExitCode: 143, Signal: 15}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := inTemp(t, "end.json")
			p := redlockRun(t, addrs, append([]string{"--json", file, tt.name, "--"}, tt.argv...)...)
			assert.Equal(t, tt.want.ExitCode, p.code())
			got := reported(t, file)
			assert.Equal(t, tt.name, got.Name)
			assert.Equal(t, tt.want.Outcome, got.Outcome)
			assert.Equal(t, tt.want.ExitCode, got.ExitCode)
			assert.Equal(t, tt.want.ExitCode, *got.CommandCode)
			assert.Equal(t, tt.want.Signal, got.Signal)
			assert.Len(t, got.TokenPrefix, 8)
			assert.NotNil(t, got.AcquiredAfter)
			assert.NotNil(t, got.HeldFor)
			assert.Equal(t, strings.TrimSpace(p.stderr()), got.Reason)
		})
	}
}

// reported reads what --json wrote.
func reported(t *testing.T, file string) report {
	t.Helper()
	var r report
	require.NoError(t, json.Unmarshal([]byte(contents(file)), &r), "%q", contents(file))
	return r
}

func TestPasswordInAnArgument_IsRefused(t *testing.T) {
	t.Parallel()
	p := redlockRun(t, []string{"127.0.0.1:1", "redis://user:secret@127.0.0.1:2"}, "-n", "job", "--", "true")
	assert.Equal(t, exitUsage, p.code())
	p.says(mastersVar, "--masters-file")
	p = redlockRun(t, []string{"redis://user@127.0.0.1:1"}, "-q", "-n", "job", "--", "true")
	assert.Equal(t, exitNoQuorum, p.code(), "a user alone is no secret")
}

func TestPasswords_AreNeverShown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	file := inTemp(t, "masters")
	for name, masters := range map[string]string{
		"unreachable": "redis://:hunter2@127.0.0.1:1,redis://user:hunter2@127.0.0.1:2,rediss://:hunter2@127.0.0.1:3",
		"no URL":      "127.0.0.1:1,user:hunter2@127.0.0.1:2,127.0.0.1:3",
		"bad URL":     "redis://:hunter2@127.0.0.1:port,127.0.0.1:2,127.0.0.1:3",
		"bad escape":  "redis://:hunter2%zz@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3",
		"bad scheme":  "http://:hunter2@127.0.0.1:1",
		"bad option":  "redis://:hunter2@127.0.0.1:1?hunter2=hunter2",
	} {
		for _, args := range [][]string{
			{"run", "-n", "--verbose", "--json", inTemp(t, "json"), "job", "--", "true"},
			{"run", "--wait", "100ms", "job", "--", "true"},
			{"status", "job"},
			{"status", "--json", "job"},
			{"unlock", "--force", "--yes", "job"},
			{"unlock", "--token", "t", "job"},
		} {
			for from, prepare := range map[string]func(*exec.Cmd){
				"environment": func(c *exec.Cmd) { c.Env = append(c.Env, mastersVar+"="+masters) },
				"file": func(c *exec.Cmd) {
					require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(masters, ",", "\n")), 0o600))
					c.Args = append([]string{c.Args[0], "--masters-file", file}, c.Args[1:]...)
				},
				"argument": func(c *exec.Cmd) { c.Args = append([]string{c.Args[0], "--masters", masters}, c.Args[1:]...) },
			} {
				p := start(t, prepare, args...)
				code := p.code()
				assert.NotZero(t, code, "%s: %v", name, args)
				shownTo := p.stdout() + p.stderr()
				if args[0] == "run" && args[3] == "--json" {
					shownTo += contents(args[4])
				}
				assert.NotContains(t, shownTo, secret, "%s from %s: %v", name, from, args)
			}
		}
	}
}

func TestReplica_IsAnUnsafeConfiguration(t *testing.T) {
	t.Parallel()
	m := redistest.Start(t, 1)[0]
	replica := redistest.Start(t, 1, redistest.Args("--replicaof", "127.0.0.1", m.Addr()[strings.LastIndex(m.Addr(), ":")+1:]))[0]
	p := redlockRun(t, []string{replica.Addr()}, "--quiet", "-n", "job", "--", "true")
	assert.Equal(t, exitUnsafe, p.code())
	p.says("replica", replica.Addr())
}
