//go:build unix && !aix && !solaris

package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/redlock"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	none, silent := redlock.Holding{}, redlock.Holding{Err: errors.New("away")}
	has := func(token string, left time.Duration) redlock.Holding {
		return redlock.Holding{Token: token, Left: left}
	}
	a, b := has("a", time.Minute), has("b", time.Minute)
	held := verdict{stateHeld, "a", time.Minute - clock.Grace}
	for _, tt := range []struct {
		name  string
		given []redlock.Holding
		want  verdict
	}{
		{"all free", []redlock.Holding{none, none, none}, verdict{state: stateFree}},
		{"a majority is free", []redlock.Holding{none, none, silent}, verdict{state: stateFree}},
		{"a leftover", []redlock.Holding{none, none, a}, verdict{state: stateFree}},
		{"all held", []redlock.Holding{a, a, a}, held},
		{"a majority is held", []redlock.Holding{a, silent, a}, held},
		{"the majority's life counts", []redlock.Holding{has("a", 3*time.Second), has("a", 9*time.Second), has("a", 5*time.Second)},
			verdict{stateHeld, "a", 5*time.Second - clock.Grace}},
		{"a key without an end counts as long", []redlock.Holding{has("a", -1), has("a", 9*time.Second), none},
			verdict{stateHeld, "a", 9*time.Second - clock.Grace}},
		{"for ever", []redlock.Holding{has("a", -1), has("a", -1), none}, verdict{stateHeld, "a", -1}},
		{"only its grace is left", []redlock.Holding{has("a", clock.Grace/2), a, none}, verdict{stateHeld, "a", 0}},
		{"split", []redlock.Holding{a, b, none}, verdict{state: stateSplit}},
		{"one could make the difference", []redlock.Holding{a, none, silent}, verdict{state: stateNoQuorum}},
		{"split of five, whoever is silent", []redlock.Holding{a, b, none, none, silent}, verdict{state: stateSplit}},
		{"a majority is silent", []redlock.Holding{a, silent, silent}, verdict{state: stateNoQuorum}},
	} {
		assert.Equal(t, tt.want, judge(tt.given), tt.name)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	lease := hold(t, addrs)
	masters := strings.Join(addrs, ",")

	p := start(t, nil, "status", "--masters", masters, "job")
	assert.Equal(t, exitOK, p.code())
	p.silent()
	lines := strings.Split(strings.TrimSpace(p.stdout()), "\n")
	require.Len(t, lines, 8)
	for i, addr := range addrs {
		assert.Regexp(t, addr+" +"+lease.Token()+` +\d`, lines[1+i])
	}
	assert.Contains(t, lines[7], "held by "+lease.Token()+" for at least 2")

	few := strings.Join([]string{"127.0.0.1:1", addrs[1], addrs[2], addrs[3], "127.0.0.1:2"}, ",")
	p = start(t, nil, "status", "--masters", few, "--json", "job")
	assert.Equal(t, exitOK, p.code())
	var got statusJSON
	require.NoError(t, json.Unmarshal([]byte(p.stdout()), &got))
	assert.Equal(t, stateHeld, got.State)
	assert.Equal(t, lease.Token(), got.Token)
	assert.Positive(t, *got.LeftMS)
	require.Len(t, got.Masters, 5)
	assert.NotEmpty(t, got.Masters[0].Error)
	assert.Equal(t, lease.Token(), got.Masters[1].Token)

	p = start(t, nil, "status", "--masters", masters, "other")
	assert.Equal(t, exitOK, p.code())
	assert.Contains(t, p.stdout(), "\nfree\n")

	few = strings.Join([]string{"127.0.0.1:1", addrs[1], addrs[2], "127.0.0.1:3", "127.0.0.1:2"}, ",")
	p = start(t, nil, "status", "--masters", few, "job")
	assert.Equal(t, exitNoQuorum, p.code())
	p.says("2 of 5", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
	assert.Contains(t, p.stdout(), "no quorum")
}

func TestUnlockByToken(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	lease := hold(t, addrs)
	masters := strings.Join(addrs, ",")

	p := start(t, nil, "unlock", "--masters", masters, "job", "--token", "another")
	assert.Equal(t, exitNotHeld, p.code())
	p.says("held by another")

	p = start(t, nil, "unlock", "--masters", masters, "job", "--token", lease.Token())
	assert.Equal(t, exitOK, p.code())
	p.silent()
	assertFree(t, addrs, "job")
}

func TestUnlockByForce(t *testing.T) {
	t.Parallel()
	addrs := fiveEmbedded(t)
	masters := strings.Join(addrs, ",")
	lease := hold(t, addrs)
	// Somebody else's leftover, where the holder has none.
	require.NoError(t, newClient(t, addrs[:1]).Unlock(t.Context(), "job", lease.Token()))
	_, err := newClient(t, addrs[:1]).TryLock(t.Context(), "job", 30*time.Second)
	require.NoError(t, err)

	p := start(t, nil, "unlock", "--masters", masters, "job", "--force", "--yes")
	assert.Equal(t, exitOK, p.code())
	p.silent()
	assert.Contains(t, p.stdout(), lease.Token())
	assertFree(t, addrs, "job")

	p = start(t, nil, "unlock", "--masters", masters, "job", "--force", "--yes")
	assert.Equal(t, exitOK, p.code(), "there is nothing to free")
}
