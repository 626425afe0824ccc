//go:build unix && !aix && !solaris

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorumlock/redlock-go/internal/lab"
)

// lateSet is a fault that needs no masters of one's own.
var lateSet = []string{"lab", "--embedded", "--fault", "late-set", "--lock", "setnx,textbook,ours,fenced"}

func TestLab_ShowsTheMatrixAndWritesReports(t *testing.T) {
	t.Parallel()
	html, markdown := inTemp(t, "report.html"), inTemp(t, "matrix.md")
	p := start(t, nil, append(lateSet, "--html", html, "--markdown", markdown)...)
	require.Equal(t, exitOK, p.code(), p.stderr())
	p.silent()
	assert.Regexp(t, `late-set +STUCK +blocked +ok +-`, p.stdout())
	assert.Contains(t, p.stdout(), "3 cells, staged 3 times")
	assert.Contains(t, p.stdout(), "3 as expected, 1 not run here")
	assert.NotContains(t, p.stdout(), "\x1b", "no colours in a file")
	assert.Contains(t, contents(html), "textbook Redlock: the request arrives when its sender has given up")
	assert.Contains(t, contents(markdown), "| the request arrives when its sender has given up | **stuck** |")
}

func TestLab_JSON(t *testing.T) {
	t.Parallel()
	p := start(t, nil, append(lateSet, "--json", "--seed", "7", "--repeat", "2")...)
	require.Equal(t, exitOK, p.code(), p.stderr())
	var r lab.Report
	require.NoError(t, json.Unmarshal([]byte(p.stdout()), &r))
	assert.EqualValues(t, 7, r.Seed)
	cell := r.Cell(lab.ID{Fault: "late-set", Design: "textbook"})
	require.NotNil(t, cell)
	assert.Equal(t, lab.Blocked, cell.Verdict)
	require.Len(t, cell.Runs, 2)
	assert.NotEmpty(t, cell.Runs[1].Evidence.Moments)
}

func TestLabExplain_TellsTheStory(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "lab", "explain", "--embedded", "late-release/plaindel")
	require.Equal(t, exitOK, p.code(), p.stderr())
	for _, part := range []string{"SET NX PX + DEL", "its first release arrives", "The command that broke it, on master: late, from A: DEL stock", "Two holders: A and B for"} {
		assert.Contains(t, p.stdout(), part)
	}
	p = start(t, nil, "lab", "explain", "-v", "--embedded", "late-release/plaindel")
	require.Equal(t, exitOK, p.code(), p.stderr())
	assert.Contains(t, strings.ToUpper(p.stdout()), "FROM A: SET STOCK")
}

func TestLab_RefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"lab", "--fault", "rain"}, `there is no fault "rain"`},
		{[]string{"lab", "--lock", "mutex"}, `there is no lock "mutex"`},
		{[]string{"lab", "--repeat", "0"}, "must be 1 or more"},
		{[]string{"lab", "--masters", "a:1"}, "masters of its own"},
		{[]string{"lab", "--html", "/nowhere/at/all.html"}, "/nowhere/at/all.html"},
		{[]string{"lab", "explain"}, "FAULT/LOCK"},
		{[]string{"lab", "explain", "late-set"}, `give FAULT/LOCK`},
		{[]string{"lab", "--all", "--fault", "late-set"}, "none of the others"},
		{[]string{"lab", "explain", "late-set/mutex"}, `there is no lock "mutex"`},
	} {
		p := start(t, nil, tt.args...)
		assert.Equal(t, exitUsage, p.code(), tt.args)
		p.says(tt.says)
	}
}

func TestLabList(t *testing.T) {
	t.Parallel()
	p := start(t, nil, "lab", "list")
	require.Equal(t, exitOK, p.code(), p.stderr())
	for _, f := range lab.Faults() {
		assert.Contains(t, p.stdout(), f.Title)
	}
}

// A cell that is not as expected is an error, a lock that is known to be wrong and survives too.
func TestOtherwise(t *testing.T) {
	t.Parallel()
	c := &lab.Cell{Fault: "late-set", Design: "token", Expected: lab.Blocked, Verdict: lab.OK, Runs: []lab.Run{{Verdict: lab.OK}}}
	assert.False(t, c.Right())
	assert.ErrorContains(t, otherwise([]*lab.Cell{c}), "late-set/token: Ok (expected: blocked).")
	assert.Contains(t, inMatrix(c), "ok !")
}
