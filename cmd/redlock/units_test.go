package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

func TestMastersAreReadFromListsAndFiles(t *testing.T) {
	t.Parallel()
	want := []string{"a:1", "redis://:p%23w@b:2", "c:3"}
	for _, list := range []string{"a:1,redis://:p%23w@b:2,c:3", " a:1 redis://:p%23w@b:2\tc:3\n", "a:1, redis://:p%23w@b:2,,c:3,"} {
		assert.Equal(t, want, fields(list), "%q", list)
	}
	assert.Equal(t, want, lines("# ours\na:1 # the first\n\n  redis://:p%23w@b:2  \r\n #c:4\nc:3"))
	assert.Empty(t, fields(" ,\n"))
	assert.Empty(t, lines("# none\n"))
}

func TestMastersAreShownAsVotesNameThem(t *testing.T) {
	t.Parallel()
	for master, want := range map[string]string{
		"Host:7001":                      "host:7001",
		"redis://user:secret@Host:7/2":   "host:7",
		"rediss://:secret@host":          "host:6379",
		"redis://:secret@[::1]:7":        "[::1]:7",
		"redis://:secret%zz@host:7":      "?",
		"redis://:secret@host:7?db=1&x=": "host:7",
	} {
		assert.Equal(t, want, shown(master), master)
	}
}

// What is kept free for the end of the command must leave time for at least three
// tries to extend, which begin at a third of the ttl.
func TestLongestGrace_LeavesTimeToExtend(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{redlock.MinTTL, time.Second, 5 * time.Second, defaultTTL, time.Minute, time.Hour} {
		validity := clock.DefaultDrift.Deadline(0, ttl).Sub(0)
		ends := validity - longestGrace(ttl) - safety(ttl)
		assert.GreaterOrEqual(t, ends, ttl/3+3*ttl/20, ttl)
		assert.Positive(t, safety(ttl), ttl)
	}
	assert.GreaterOrEqual(t, longestGrace(defaultTTL), defaultGrace, "the defaults fit")
}

func TestHoldersTime_IsWhatAMajorityKeepsWithoutTheGrace(t *testing.T) {
	t.Parallel()
	votes := func(lefts ...time.Duration) []redlock.Vote {
		var v []redlock.Vote
		for _, left := range lefts {
			v = append(v, redlock.Vote{Answer: quorum.Refused, Left: left})
		}
		return v
	}
	const s = time.Second
	for _, tt := range []struct {
		votes []redlock.Vote
		want  time.Duration
		known bool
	}{
		{votes(9*s, 8*s, 7*s, 6*s, 5*s), 7*s - clock.Grace, true},
		{append(votes(9*s, 8*s), make([]redlock.Vote, 3)...), 8*s - clock.Grace, true},
		{votes(clock.Grace/2, clock.Grace/2, clock.Grace/2), 0, true},
		{votes(0, -1, 0), 0, false},
		{nil, 0, false},
	} {
		left, known := holdersTime(tt.votes)
		assert.Equal(t, tt.want, left)
		assert.Equal(t, tt.known, known)
	}
}

func TestTokensThatAreNoneOfOurs_DoNothingToATerminal(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "d0dab3bb-630b", legible("d0dab3bb-630b"))
	assert.Equal(t, `"\x1b[2J\tx"`, legible("\x1b[2J\tx"))
}

func FuzzOneLine(f *testing.F) {
	f.Add("redlock: two\nlines")
	f.Fuzz(func(t *testing.T, text string) {
		line := oneLine(text)
		assert.True(t, strings.HasPrefix(line, "redlock: "))
		assert.NotContains(t, line, "\n")
	})
}
