package tenurecheck

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A mutant is the real code with one thing wrong. Its source is made by replacing text
// that must be there exactly once, so that no mutant goes stale unnoticed, and production
// code has no switches.
//
// What three masters can't show has a test with five.
type mutant struct {
	name  string
	kill  kill
	edits []edit
}

// A kill is what a mutant must die of: a property that it breaks in what is explored, or
// a test of the tenure package that fails.
type kill struct {
	Property string
	Config   Config
	Test     string
}

type edit struct{ file, old, new string }

const (
	tenureGo      = "../../quorum/tenure/tenure.go"
	transitionsGo = "../../quorum/tenure/transitions.go"
	rejoinGo      = "../../quorum/tenure/rejoin.go"
	foundGo       = "../../quorum/tenure/found.go"
	locksGo       = "locks.go"
)

// breaks is the death of a mutant that breaks a property. One that says what must never
// be is looked for alone: so the trace is the shortest that leads to it.
func breaks(property string, c Config) kill {
	switch property {
	case Excludes, Waits, OneSeat, Invites:
		c.Only = property
	}
	return kill{Property: property, Config: c}
}

func fails(test string) kill { return kill{Test: test} }

var (
	oneFault     = Config{Locks: 2, Extends: true, Faults: allFaults, Most: 1, Terms: 4}
	two          = Config{Faults: Promote | Flush, Most: 2, Terms: 4}
	twoLate      = Config{Faults: Promote | Flush, Most: 2, Terms: 4, Lates: 1}
	twoLocks     = Config{Locks: 2, Faults: Promote | Flush, Most: 2, Terms: 3}
	twoRestarts  = Config{Locks: 2, Faults: Restart, Most: 2, Terms: 3}
	ruins        = Config{Locks: 2, Ruins: 3, Faults: Promote, Most: 1, Terms: 2}
	ruinsLate    = Config{Ruins: 3, Faults: Promote, Most: 1, Terms: 2, Lates: 2}
	ruinLate     = Config{Ruins: 1, Faults: Promote, Most: 1, Terms: 2, Lates: 1}
	failoverLate = Config{Cached: true, Faults: Promote, Most: 1, Terms: 2, Lates: 2}
	twoFailovers = Config{Cached: true, Faults: Promote, Most: 2, Terms: 3}
	uninvited    = Config{Moves: true, Uninvited: true, Terms: 4}
)

var mutants = []mutant{
	{"no wait", breaks(Excludes, oneFault), []edit{
		{tenureGo, "return c.MaxTTL + c.MaxTTL/10 + 2*c.Tolerance", "return 0"},
	}},
	{"the wait begins before the term is raised", breaks(Excludes, oneFault), []edit{
		{transitionsGo, "func (p Prepare) Apply(r Record, process string, _ Time)", "func (p Prepare) Apply(r Record, process string, now Time)"},
		{transitionsGo, `r.Pledge, r.Since = "", 0`, `r.Pledge, r.Since = "", now`},
		{rejoinGo, "left := p.await(seat, supporters)", "left := p.charter(\"\").Wait() - time.Duration(r.Time-r.Record.Since)*time.Microsecond"},
	}},
	{"each master waits since its own raise", fails("TestOneClockCantEndTheWait"), []edit{
		{transitionsGo, "func (a Raise) Apply(r Record, _ string, _ Time)", "func (a Raise) Apply(r Record, _ string, now Time)"},
		{transitionsGo, "Address: a.Address, Waiter: a.Waiter}", "Address: a.Address, Waiter: a.Waiter, Since: now}"},
	}},
	{"one clock ends the wait", fails("TestOneClockCantEndTheWait"), []edit{
		{rejoinGo, "return left[p.majority()-1]\n", "return left[0]\n"},
	}},
	{"the term is raised on one master less", breaks(Excludes, oneFault), []edit{
		{rejoinGo, "if len(supporters) < p.majority() {", "if len(supporters) < p.majority()-1 {"},
		{rejoinGo, "len(supporters)+below < p.majority()", "len(supporters)+below < p.majority()-1"},
		{rejoinGo, "return left[p.majority()-1]\n", "return left[p.majority()-2]\n"},
	}},
	{"the nonce is not spent", breaks(OneSeat, twoLate), []edit{
		{transitionsGo, "\t\tIdentity: process,\n", "\t\tIdentity: process,\n\t\tPrepared: a.Prepared,\n"},
	}},
	{"the nonce is not bound to the process", breaks(Excludes, twoLocks), []edit{
		{tenureGo, `return r.Prepared.Nonce != "" && r.Prepared.Process == process`, `return r.Prepared.Nonce != ""`},
	}},
	{"arming does not ask for the nonce", breaks(OneSeat, twoLate), []edit{
		{transitionsGo, "r.Prepared != a.Prepared || r.Pledge != a.Pledge", "r.Pledge != a.Pledge"},
	}},
	{"terms are not checked in a round", breaks(Excludes, oneFault), []edit{
		{tenureGo, "o.Record.Terms[r.Seat-1].No > r.Term()", "false"},
	}},
	{"terms are not handed over", breaks(OneSeat, two), []edit{
		{rejoinGo, "\t\tTerms:    p.terms(),\n\t\tHigh:     p.high(),", "\t\tTerms: func() []Term {\n\t\t\tterms := p.terms()\n\t\t\tfor i := range terms {\n\t\t\t\tif i != seat-1 {\n\t\t\t\t\tterms[i].No = 1\n\t\t\t\t}\n\t\t\t}\n\t\t\treturn terms\n\t\t}(),\n\t\tHigh: p.high(),"},
	}},
	{"raising may lower", breaks(OneSeat, twoLate), []edit{
		{transitionsGo, " || r.Terms[a.Seat-1].No >= a.Term", ""},
	}},
	{"a term may change its waiter", breaks(OneSeat, failoverLate), []edit{
		{transitionsGo, "r.Terms[a.Seat-1].No >= a.Term", "r.Terms[a.Seat-1].No > a.Term"},
	}},
	{"preparing leaves tenure", breaks(Excludes, oneFault), []edit{
		{transitionsGo, "\tr.Identity = \"\"\n", ""},
	}},
	{"extensions are not bound to tenure", breaks(Excludes, oneFault), []edit{
		{locksGo, "\tif m.count(t, i) < majority {", "\tif granted := t.locks[i].granted(); m.count(t, i) < majority && (granted < majority || l.phase != extending) {"},
		{locksGo, "!m.Tails && !proc.tenured()", "!m.Tails && !proc.tenured() && s.locks[i].phase < holding"},
		{locksGo, "// over ends", "func (l *lock) granted() int {\n\tn := 0\n\tfor _, v := range l.votes {\n\t\tif v.stage != 0 {\n\t\t\tn++\n\t\t}\n\t}\n\treturn n\n}\n\n// over ends"},
	}},
	{"an extension outlives the deadline", breaks(Excludes, oneFault), []edit{
		{locksGo, "\tif l.phase == extending {\n\t\tt := *s\n\t\tt.unextend(i)", "\tif l.phase == extending {\n\t\tu := *s\n\t\tu.extend(i)\n\t\tm.say(\"client %d: its old deadline passes\", i+1)\n\t\tm.visit(&u)\n\t\tt := *s\n\t\tt.unextend(i)"},
	}},
	{"replies of any age are acted on", fails("TestOldRepliesAreNotActedOn"), []edit{
		{tenureGo, "return c.MaxTTL / 2", "return 100 * c.MaxTTL"},
	}},
	{"one seat votes twice", fails("TestCount"), []edit{
		{tenureGo, "view[j].Record.Seat == r.Seat", "false"},
	}},
	{"the address is not checked", breaks(Invites, uninvited), []edit{
		{rejoinGo, "return 1 + slices.IndexFunc(p.terms(), func(t Term) bool { return t.Address == address })", "return slot + 1"},
	}},
	{"groups are mixed in a round", breaks(Excludes, ruins), []edit{
		{tenureGo, "!l.stands(i, view) || r.Group != view[first].Record.Group", "!l.stands(i, view)"},
	}},
	{"founding without the wait", breaks(Excludes, twoRestarts), []edit{
		{foundGo, "left > 0 && !operator", "false"},
	}},
	{"a new group keeps the name", breaks(Excludes, ruins), []edit{
		{foundGo, "\treturn Digest(nonces)\n", "\treturn p.view[0].Record.Group\n"},
	}},
	{"a group is founded with masters that lost their seats", breaks(OneSeat, twoFailovers), []edit{
		{foundGo, "t.No == r.Term()+1 && t.Waiter", "t.Waiter"},
	}},
	{"a group is founded whatever others know", breaks(OneSeat, twoFailovers), []edit{
		{foundGo, "t.No > r.Term() && !next || ", "next && false || "},
	}},
	{"a pledge may be changed", breaks(OneSeat, ruinsLate), []edit{
		{transitionsGo, `r.Pledge != "" && (r.Pledge != p.Group || r.Since <= now)`, `r.Pledge == p.Group && r.Since <= now`},
		{foundGo, `r.Record.Pledge != "" && r.Record.Pledge != group`, "r.Record.Pledge != group && false"},
		{foundGo, `r.Record.Pledge == "" || r.ahead(`, `r.Record.Pledge != group || r.ahead(`},
	}},
	{"arming does not ask for the pledge", breaks(OneSeat, ruinLate), []edit{
		{transitionsGo, " || r.Pledge != a.Pledge", ""},
	}},
}

// TestMutants has each mutant compiled, and killed by what is there to kill it.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if m.kill.Test != "" {
				out, err := m.test(t, "../../quorum/tenure", m.kill.Test)
				require.Error(t, err, "the mutant lives:\n%s", out)
				require.Contains(t, out, "--- FAIL: "+m.kill.Test)
				return
			}
			what, err := json.Marshal(m.kill)
			require.NoError(t, err)
			out, err := m.test(t, ".", "TestChild", childKill+"="+string(what))
			require.NoError(t, err, "%s", out)
			t.Log(out)
		})
	}
}

const childKill = "TENURECHECK_KILL"

// TestChild explores what its parent says.
func TestChild(t *testing.T) {
	text := os.Getenv(childKill)
	if text == "" {
		t.Skip("has no parent")
	}
	var k kill
	require.NoError(t, json.Unmarshal([]byte(text), &k))
	r := Run(k.Config)
	t.Log(r)
	require.NotEmpty(t, r.Broken, "the mutant lives")
	require.Contains(t, r.Broken, k.Property, "the mutant dies of something else")
}

// test runs one test of the mutant's sources, without the race detector: a mutant has one
// goroutine, and millions of states.
func (m mutant) test(t *testing.T, pkg, test string, env ...string) (string, error) {
	t.Helper()
	timeout := time.Duration(0) // none, as the parent has none
	if d, ok := t.Deadline(); ok {
		timeout = time.Until(d)
	}
	cmd := exec.Command("go", "test", "-race=false", "-vet=off", "-overlay", m.overlay(t), "-run", "^"+test+"$", "-count=1", "-v", "-timeout="+timeout.String(), pkg)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// overlay writes the mutant's sources, and tells the compiler to take them.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sources := map[string]string{}
	for _, e := range m.edits {
		path, err := filepath.Abs(e.file)
		require.NoError(t, err)
		if _, ok := sources[path]; !ok {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			sources[path] = string(text)
		}
		require.Equal(t, 1, strings.Count(sources[path], e.old), "%s: %q", e.file, e.old)
		sources[path] = strings.Replace(sources[path], e.old, e.new, 1)
	}
	replace := map[string]string{}
	for path, text := range sources {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		require.NoError(t, os.WriteFile(replace[path], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, overlay, 0o600))
	return name
}
