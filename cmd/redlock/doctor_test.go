//go:build unix && !aix && !solaris

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// brief is a longest ttl that a test can wait for.
const brief = 2 * time.Second

// on starts a command of redlock on masters whose longest ttl is brief.
func on(t *testing.T, addrs []string, args ...string) *process {
	t.Helper()
	return start(t, nil, append([]string{"--masters", strings.Join(addrs, ","), "--max-ttl", brief.String()}, args...)...)
}

// founded are n real masters that redlock init has made a group, with the longest ttl brief.
func founded(t *testing.T, n int, options ...redistest.Option) ([]*redistest.Master, []string) {
	t.Helper()
	masters := redistest.Start(t, n, options...)
	addrs := redistest.Addrs(masters)
	p := on(t, addrs, "init", "--yes")
	require.Equal(t, exitOK, p.code(), p.stderr())
	return masters, addrs
}

// examined returns what doctor --json says, and its exit code.
func examined(t *testing.T, addrs []string) (checkupJSON, int) {
	t.Helper()
	p := on(t, addrs, "doctor", "--json")
	code := p.code()
	var got checkupJSON
	require.NoError(t, json.Unmarshal([]byte(p.stdout()), &got), p.stdout())
	p.silent()
	return got, code
}

// fitAgain waits until all masters vote.
func fitAgain(t *testing.T, addrs []string) {
	t.Helper()
	eventually(t, func() bool { _, code := examined(t, addrs); return code == exitOK }, "the masters' fitness")
}

func TestDoctor_OfAFitSet(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3, redistest.AOF("always"))
	p := on(t, addrs, "doctor")
	assert.Equal(t, exitOK, p.code())
	p.silent()
	lines := strings.Split(strings.TrimSpace(p.stdout()), "\n")
	require.Len(t, lines, 6, "a table and the verdict: there is nothing to say about any of them\n%s", p.stdout())
	for i, addr := range addrs {
		assert.Regexp(t, fmt.Sprintf(`^%s +yes +%d +1 +\d\S* +master +%s\+\w{7} +\S+s +\S+s +aof always +noeviction +0$`,
			addr, i+1, masters[i].RunID()[:7]), lines[1+i])
	}
	assert.Equal(t, "fit: all 3 masters vote", lines[5])

	got, code := examined(t, addrs)
	assert.Equal(t, exitOK, code)
	assert.True(t, got.Fit)
	assert.False(t, got.Unguarded)
	require.Len(t, got.Masters, 3)
	for i, m := range got.Masters {
		assert.Equal(t, addrs[i], m.Master)
		assert.True(t, m.Votes)
		assert.Equal(t, i+1, m.Seat)
		assert.EqualValues(t, 1, m.Term)
		assert.Equal(t, got.Masters[0].Group, m.Group)
		assert.NotEmpty(t, m.Group)
		assert.True(t, strings.HasPrefix(m.Identity, masters[i].RunID()+"+"), m.Identity)
		assert.Positive(t, m.RoundTripUS)
		require.NotNil(t, m.OffsetUS)
		assert.Less(t, time.Duration(*m.OffsetUS)*time.Microsecond, time.Second)
		assert.Equal(t, []string{"yes", "always"}, []string{m.AppendOnly, m.AppendFsync})
		assert.Equal(t, "noeviction", m.Eviction)
		assert.Empty(t, append(m.Problems, m.Advice...))
	}
}

func TestDoctor_NamesInitWhereItIsMissing(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Start(t, 3))
	p := on(t, addrs, "doctor")
	assert.Equal(t, exitUnsafe, p.code())
	lines := strings.Split(strings.TrimSpace(p.stdout()), "\n")
	assert.Contains(t, lines[len(lines)-1], "not fit: none of 3 votes")
	assert.Contains(t, lines[len(lines)-1], "redlock init")

	for _, args := range [][]string{{"-n"}, {"--wait", "10s"}, nil} {
		p = on(t, addrs, append(append([]string{"run"}, args...), "job", "--", "true")...)
		assert.Equal(t, exitUnsafe, p.code(), "waiting does not mend it")
		p.says(`lock "job"`, "redlock init")
		assert.Equal(t, 1, strings.Count(p.stderr(), "redlock init"), "once is enough: %s", p.stderr())
	}
}

func TestDoctor_OfAMasterThatIsAway(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3)
	masters[1].Kill()
	p := on(t, addrs, "doctor")
	assert.Equal(t, exitNoQuorum, p.code())
	p.silent()
	assert.Regexp(t, addrs[1]+" +no +- ", p.stdout())
	assert.Contains(t, p.stdout(), "\n"+addrs[1]+": dial tcp: connect: connection refused\n")
	assert.Contains(t, p.stdout(), "\nnot fit: 2 of 3 masters vote, which is enough")
	masters[2].Kill()
	p = on(t, addrs, "doctor")
	assert.Equal(t, exitNoQuorum, p.code())
	assert.Contains(t, p.stdout(), "\nnot fit: none of 3 votes")
}

func TestDoctor_OfAMasterThatForgot(t *testing.T) {
	t.Parallel()
	masters, addrs := founded(t, 3)
	for _, forget := range []func(*redistest.Master){
		(*redistest.Master).Restart,
		func(m *redistest.Master) { m.FlushAll() },
	} {
		forget(masters[2])
		p := on(t, addrs, "doctor")
		assert.Equal(t, exitNoQuorum, p.code())
		assert.Regexp(t, addrs[2]+` +in [1-9]\d*s `, p.stdout())
		assert.Contains(t, p.stdout(), "\n"+addrs[2]+": it may have forgotten what it granted: it votes again in ")
		got, _ := examined(t, addrs)
		assert.Positive(t, got.Masters[2].WaitMS)
		assert.False(t, got.Masters[2].Refused)
		p = on(t, addrs, "run", "-n", "job", "--", "true")
		assert.Equal(t, exitOK, p.code(), "two are enough")
		fitAgain(t, addrs)
	}
}

func TestDoctor_OfConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, masters []*redistest.Master, addrs []string)
		says  string
	}{
		"eviction": {func(t *testing.T, masters []*redistest.Master, _ []string) {
			c := masters[2].Client()
			require.NoError(t, c.ConfigSet(t.Context(), "maxmemory", "100mb").Err())
			require.NoError(t, c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
		}, "it may evict locks (maxmemory-policy allkeys-lru)"},
		"two addresses of one master": {func(t *testing.T, masters []*redistest.Master, addrs []string) {
			addrs[2] = proxy.Start(t, masters[0].Addr()).Addr()
		}, "it is the same master as "},
		"a replica": {func(t *testing.T, masters []*redistest.Master, _ []string) {
			host, port, _ := strings.Cut(redistest.Start(t, 1)[0].Addr(), ":") // attaching one to a voter is another matter
			require.NoError(t, masters[2].Client().ReplicaOf(t.Context(), host, port).Err())
		}, "it is a replica"},
		"a stranger": {func(t *testing.T, _ []*redistest.Master, addrs []string) {
			addrs[2] = redistest.Start(t, 1)[0].Addr()
		}, "redlock replace"},
		"masters of another group": {func(t *testing.T, _ []*redistest.Master, addrs []string) {
			_, others := founded(t, 3)
			addrs[2] = others[2]
		}, "redlock replace"},
		"masters of another size": {func(t *testing.T, _ []*redistest.Master, addrs []string) {
			_, others := founded(t, 5)
			addrs[2] = others[2]
		}, "it is one of 5 masters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters, addrs := founded(t, 3)
			tt.spoil(t, masters, addrs)
			p := on(t, addrs, "doctor")
			assert.Equal(t, exitUnsafe, p.code(), p.stdout())
			assert.Regexp(t, `(?m)^`+addrs[2]+`: .*`+strings.NewReplacer("(", `\(`, ")", `\)`).Replace(tt.says), p.stdout())
			assert.Contains(t, p.stdout(), "\nnot fit: 2 of 3")
			got, _ := examined(t, addrs)
			assert.True(t, got.Masters[2].Refused)
			assert.False(t, got.Masters[0].Refused)
		})
	}
}

func TestDoctor_OfAnotherMaxTTL(t *testing.T) {
	t.Parallel()
	_, addrs := founded(t, 3)
	p := start(t, nil, "--masters", strings.Join(addrs, ","), "doctor")
	assert.Equal(t, exitUnsafe, p.code())
	assert.Contains(t, p.stdout(), "not fit: none of 3 votes: its MaxTTL is 2s, and this client's is 30s")
}

func TestDoctor_SaysUnguardedPlainly(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Start(t, 3))
	p := on(t, addrs, "--unguarded", "doctor")
	assert.Equal(t, exitOK, p.code())
	for _, addr := range addrs {
		assert.Regexp(t, addr+" +unguarded +- +- ", p.stdout())
		assert.Contains(t, p.stdout(), "\n"+addr+": unguarded, and a crash loses locks")
	}
	assert.Contains(t, p.stdout(), "\nfit, but unguarded: all 3 masters vote")
	p = on(t, addrs, "--unguarded", "doctor", "--json")
	assert.Equal(t, exitOK, p.code())
	assert.Equal(t, 4, strings.Count(p.stdout(), `"unguarded": true`))

	p = on(t, addrs, "--unguarded", "--verbose", "run", "job", "--", "true")
	assert.Equal(t, exitOK, p.code(), "it needs no init")
	assert.Contains(t, p.stderr(), "the guard is off")
	p = start(t, nil, "--embedded", "--verbose", "run", "job", "--", "true")
	assert.Equal(t, exitOK, p.code())
	assert.Contains(t, p.stderr(), "in memory go without the guard")
	p = start(t, nil, "--embedded", "doctor")
	assert.Equal(t, exitOK, p.code())
	assert.Contains(t, p.stdout(), "\nfit, but unguarded: all 5 masters vote")
}

func TestDoctor_WarnsOfAnEvenNumber(t *testing.T) {
	t.Parallel()
	_, addrs := founded(t, 2)
	p := on(t, addrs, "doctor")
	assert.Equal(t, exitOK, p.code())
	p.silent()
	assert.Contains(t, p.stdout(), "\n2 masters survive no more failures than 1: use an odd number\n")
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	yes := redlock.Health{Votes: true}
	no := redlock.Health{Why: redlock.ErrUnsafe.Error() + ": it is odd", Refused: true}
	away := redlock.Health{Err: errors.New("away")}
	for _, tt := range []struct {
		given []redlock.Health
		want  string
	}{
		{[]redlock.Health{yes}, "fit: all 1 master votes"},
		{[]redlock.Health{yes, yes, yes}, "fit: all 3 masters vote"},
		{[]redlock.Health{yes, yes, no}, "not fit: 2 of 3 masters vote, which is enough to take locks"},
		{[]redlock.Health{yes, no, no}, "not fit: 1 of 3 masters vote, and it takes 2: nobody gets a lock: it is odd"},
		{[]redlock.Health{yes, no, away}, "not fit: 1 of 3 masters vote, and it takes 2: nobody gets a lock"},
		{[]redlock.Health{no, no, no}, "not fit: none of 3 votes: it is odd"},
	} {
		assert.Equal(t, tt.want, (&checkup{masters: tt.given}).verdict())
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	c := &checkup{maxTTL: redlock.DefaultMaxTTL}
	good := redlock.Health{AppendOnly: "yes", AppendFsync: "everysec", MaxMemory: "0", Eviction: "noeviction"}
	for _, tt := range []struct {
		name        string
		change      func(*redlock.Health)
		persistence string
		eviction    string
		advice      string // "" for none
	}{
		{"AOF", func(*redlock.Health) {}, "aof everysec", "noeviction", ""},
		{"AOF and RDB", func(h *redlock.Health) { h.Save = "3600 1" }, "aof everysec, rdb", "noeviction", ""},
		{"AOF, settings hidden", func(h *redlock.Health) { h.AppendFsync = "" }, "aof ?", "noeviction", ""},
		{"RDB", func(h *redlock.Health) { h.AppendOnly, h.Save = "no", "3600 1" }, "rdb", "noeviction", "last snapshot"},
		{"nothing", func(h *redlock.Health) { h.AppendOnly = "no" }, "none", "noeviction", "it is empty. One alone then waits 33.5s"},
		{"settings hidden", func(h *redlock.Health) { h.AppendOnly, h.AppendFsync = "no", "" }, "no aof", "noeviction", "empty, or"},
		{"all hidden", func(h *redlock.Health) { h.AppendOnly, h.AppendFsync = "", "" }, "?", "noeviction", "does not say"},
		{"unguarded", func(h *redlock.Health) { h.Unguarded = true }, "aof everysec", "noeviction", "a crash loses locks"},
		{"unguarded, safe", func(h *redlock.Health) { h.Unguarded, h.AppendFsync = true, "always" }, "aof always", "noeviction", ""},
		{"no limit yet", func(h *redlock.Health) { h.Eviction = "allkeys-lru" }, "aof everysec", "allkeys-lru, no limit", "set noeviction"},
		{"eviction hidden", func(h *redlock.Health) { h.Eviction = "" }, "aof everysec", "?", "must be maxmemory-policy noeviction"},
		{"replicas", func(h *redlock.Health) { h.Replicas = 2 }, "aof everysec", "noeviction", "replicas attached: 2"},
		{"warnings", func(h *redlock.Health) { h.Warnings = []string{"weak"} }, "aof everysec", "noeviction", "weak"},
	} {
		h := good
		tt.change(&h)
		assert.Equal(t, tt.persistence, persistence(h), tt.name)
		assert.Equal(t, tt.eviction, eviction(h), tt.name)
		if tt.advice == "" {
			assert.Empty(t, c.advice(h), tt.name)
		} else if assert.Len(t, c.advice(h), 1, tt.name) {
			assert.Contains(t, c.advice(h)[0], tt.advice, tt.name)
		}
	}
	assert.Empty(t, c.advice(redlock.Health{Err: errors.New("away")}))
}
