package chaos

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/internal/locks"
	"github.com/quorumlock/redlock-go/internal/proxy"
	"github.com/quorumlock/redlock-go/internal/redistest"
	"github.com/quorumlock/redlock-go/redlock"
)

// Config is a run.
type Config struct {
	Seed     uint64
	Duration time.Duration // of the faults
	Kind     string        // of lock: see package locks
	Clients  int           // processes
	Workers  int           // in each
	Names    int
	MinTTL   time.Duration
	MaxTTL   time.Duration
	Habits   Habits
	Only     []string // the faults that may happen; all that a minority survives if nil
	Mortal   bool     // clients are killed and stopped
	NoGroup  bool     // the lock knows no groups of masters
	Unfenced bool     // the resource takes what comes
	// What the run must have in it to prove something. It goes on until it has so many acquisitions.
	Acquisitions, MinFaults int
	Keep                    string // directory for the histories of runs that fail; that for temporary files if empty
}

// Report is what came of a run.
type Report struct {
	Config
	Acquisitions int
	Faults       map[string]int
	Violations   []Violation
	Dir          string // with the history
}

// Broken reports whether a check found something.
func (r *Report) Broken(check string) bool {
	return slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Check == check })
}

func (r *Report) String() string {
	var b strings.Builder
	total := 0
	for _, n := range r.Faults {
		total += n
	}
	fmt.Fprintf(&b, "%s, seed %d: %d acquisitions, %d faults", r.Kind, r.Seed, r.Acquisitions, total)
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "\n%6d  %s", r.Faults[name], name)
	}
	if len(r.Violations) > 0 {
		fmt.Fprintf(&b, "\n%s\nthe history is in %s", story(r.Violations), r.Dir)
	}
	return b.String()
}

// stage is a run in progress. It belongs to the test's goroutine.
type stage struct {
	Config
	t       testing.TB
	rng     *rand.Rand
	dir     string
	rec     *recorder
	masters []*host
	spare   *redistest.Master // replicates masters
	vault   *redistest.Master // the resource
	places  []*place
	health  *redlock.Client
	broken  []repair
	faults  map[string]int
	found   []Violation
	read    map[string]int64 // how much of each file was read for held
	held    int              // acquisitions so far
}

// repair is what mends a fault, once its time has come.
type repair struct {
	m    *host
	mend func()
	at   time.Time
}

// Run breaks masters and clients under a lock, and returns what the checks say. The test
// fails if a fault can't be shown to have happened.
func Run(t testing.TB, c Config) *Report {
	t.Helper()
	s := newStage(t, c)
	for _, p := range s.places {
		s.start(p)
	}
	s.wait("clients begin", func() bool { return s.acquired() >= 200 })
	for end := time.Now().Add(c.Duration); time.Now().Before(end) || s.acquired() < c.Acquisitions; {
		s.disturb()
	}
	for len(s.broken) > 0 {
		s.mend(0)
	}
	s.quiesce()
	return s.judge()
}

func newStage(t testing.TB, c Config) *stage {
	t.Helper()
	s := &stage{Config: c, t: t, rng: rand.New(rand.NewPCG(c.Seed, 0)), dir: t.TempDir(), faults: map[string]int{}, read: map[string]int64{}}
	rec, err := newRecorder(filepath.Join(s.dir, "harness.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s.rec = rec
	t.Cleanup(func() { _ = rec.close() })
	// A rewritten file would bring back what was to be cut off.
	options := []redistest.Option{
		redistest.AOF("everysec"), redistest.WallClock(t),
		redistest.Args("--repl-diskless-sync-delay", "0", "--auto-aof-rewrite-percentage", "0"),
	}
	for i, m := range redistest.Start(t, 5, options...) {
		s.masters = append(s.masters, &host{Master: m, no: i + 1, front: proxy.Start(t, m.Addr())})
	}
	s.spare = redistest.Start(t, 1, redistest.Args("--repl-diskless-sync-delay", "0"))[0]
	s.vault = redistest.Start(t, 1)[0]
	if s.health, err = redlock.New(redlock.Options{Masters: s.fronts(), MaxTTL: c.MaxTTL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.health.Close() })
	if !c.NoGroup {
		if err := s.health.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range c.Clients {
		s.places = append(s.places, &place{no: i + 1})
	}
	t.Cleanup(func() {
		for _, p := range s.places {
			p.end()
		}
	})
	return s
}

func (s *stage) fronts() (addrs []string) {
	for _, m := range s.masters {
		addrs = append(addrs, m.front.Addr())
	}
	return addrs
}

func (s *stage) upTo(d time.Duration) time.Duration { return time.Duration(s.rng.Int64N(int64(d) + 1)) }

// disturb does one thing to the clients or the masters, or lets a moment pass.
func (s *stage) disturb() {
	s.t.Helper()
	time.Sleep(s.upTo(300 * time.Millisecond))
	s.mend(s.upTo(s.MaxTTL))
	switch {
	case s.chosen(ForgetAll):
		s.record(Event{Kind: Fault, Detail: ForgetAll})
		s.flushAll(time.Second)
	case s.chosen(FastClocks) && s.rng.IntN(8) == 0:
		s.record(Event{Kind: Fault, Detail: FastClocks})
		s.runFast(2 * s.MaxTTL)
	case s.Mortal && s.rng.IntN(3) == 0:
		s.harm(s.places[s.rng.IntN(len(s.places))])
	case s.away() <= 1: // a fault makes it two, which five survive
		s.harmOne()
	}
}

// chosen reports whether a fault is among those that the run chooses from.
func (s *stage) chosen(name string) bool {
	if s.Only == nil {
		return name != ForgetAll
	}
	return slices.Contains(s.Only, name)
}

func (s *stage) harmOne() {
	s.t.Helper()
	all := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return !s.chosen(f.name) })
	m := s.masters[s.rng.IntN(len(s.masters))]
	if len(all) == 0 || s.isBroken(m) {
		return
	}
	f := all[s.rng.IntN(len(all))]
	s.record(Event{Kind: Fault, Master: m.no, Detail: f.name})
	mend := f.do(s, m)
	s.broken = append(s.broken, repair{m, mend, time.Now().Add(s.upTo(2 * s.MaxTTL))})
}

func (s *stage) record(e Event) {
	s.faults[e.Detail]++
	s.rec.write(e)
}

// mend mends the first fault whose time comes within d, if there is one.
func (s *stage) mend(d time.Duration) {
	for i, r := range s.broken {
		if wait := time.Until(r.at); wait < d || d == 0 {
			time.Sleep(wait)
			r.mend()
			s.rec.write(Event{Kind: Mended, Master: r.m.no})
			s.broken = slices.Delete(s.broken, i, i+1)
			return
		}
	}
}

// away returns how many masters have no vote, or may have none.
func (s *stage) away() int {
	if s.NoGroup {
		return len(s.broken)
	}
	n := 0
	for i, h := range s.health.Health(s.t.Context()) {
		m := s.masters[i]
		// What clients have begun about it may still be under way, or nobody has noticed yet.
		if !h.Votes || h.Term != m.term || h.Term == m.stepped {
			m.fit = time.Now().Add(s.MaxTTL)
		}
		if h.Votes {
			m.term = h.Term
		}
		if s.isBroken(m) || time.Now().Before(m.fit) {
			n++
		}
	}
	return n
}

func (s *stage) isBroken(m *host) bool {
	return slices.ContainsFunc(s.broken, func(r repair) bool { return r.m == m })
}

// wait waits for what must come.
func (s *stage) wait(what string, done func() bool) {
	s.t.Helper()
	if !redistest.Poll(func() bool { time.Sleep(20 * time.Millisecond); return done() }) {
		s.t.Fatalf("%s: that did not come. Seed %d, history %s", what, s.Seed, s.keep())
	}
}

// quiesce is L6: once all is mended, all masters vote, everybody gets in, the clients end,
// and nothing is left on the masters.
func (s *stage) quiesce() {
	if !s.NoGroup && !s.chosen(ForgetAll) && !redistest.Poll(func() bool { return s.away() == 0 }) {
		s.found = append(s.found, violation("L6", "not all masters vote again: %+v", s.health.Health(s.t.Context())))
	}
	for _, p := range s.places {
		if why := p.finish(); why != "" {
			s.found = append(s.found, violation("L6", "client %s %s", p.name, why))
		}
	}
	names := s.names()
	for _, name := range names {
		if err := s.enters(name); err != nil {
			s.found = append(s.found, violation("L6", "nobody gets %s any more: %v", name, err))
		}
	}
	time.Sleep(s.MaxTTL + clock.Grace) // the longest that any key may live
	for _, m := range s.masters {
		if left, err := m.Client().Exists(s.t.Context(), names...).Result(); left != 0 || err != nil {
			s.found = append(s.found, violation("L6", "master %d keeps %d keys (%v)", m.no, left, err))
		}
	}
}

func (s *stage) enters(name string) error {
	lock, err := locks.Open(s.Kind, locks.Config{Masters: s.fronts(), MaxTTL: s.MaxTTL})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*s.MaxTTL+4*clock.Grace)
	defer cancel()
	held, err := lock.Acquire(ctx, name, s.MinTTL)
	if err != nil {
		return err
	}
	return held.Release(ctx)
}

func (s *stage) names() (names []string) {
	for i := range s.Names {
		names = append(names, fmt.Sprintf("name-%d", i+1))
	}
	return names
}

func (s *stage) files() []string {
	files, _ := filepath.Glob(filepath.Join(s.dir, "*.jsonl")) // the pattern is right
	return files
}

// judge has the checks read the history.
func (s *stage) judge() *Report {
	s.t.Helper()
	history, err := load(s.files())
	if err != nil {
		s.t.Fatal(err)
	}
	all := holds(history)
	r := &Report{Config: s.Config, Acquisitions: len(all), Faults: s.faults, Violations: s.found}
	r.Violations = slices.Concat(r.Violations, exclusion(all), validity(history, all, len(s.masters)), linearizable(all, s.dir), vacuous(history, all, s.Config))
	if s.Kind == locks.OursFenced {
		r.Violations = append(r.Violations, fences(all)...)
	}
	for _, name := range s.names() {
		entries, err := s.vault.Client().LRange(s.t.Context(), name, 0, -1).Result()
		if err != nil {
			s.t.Fatal(err)
		}
		r.Violations = append(r.Violations, lost(name, entries)...)
	}
	if len(r.Violations) > 0 {
		r.Dir = s.keep()
	}
	return r
}

// keep copies the history to where it outlives the test, and returns where that is.
func (s *stage) keep() string {
	to := filepath.Join(cmp.Or(s.Keep, os.TempDir()), fmt.Sprintf("redlock-chaos-%d", s.Seed))
	err := os.RemoveAll(to)
	if err == nil {
		err = os.CopyFS(to, os.DirFS(s.dir))
	}
	if err != nil {
		return err.Error()
	}
	return to
}

// acquired returns how many holds there were so far, by what the clients have written.
func (s *stage) acquired() int {
	s.t.Helper()
	for _, file := range s.files() {
		f, err := os.Open(file)
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(io.NewSectionReader(f, s.read[file], math.MaxInt64-s.read[file]))
		_ = f.Close()
		if err != nil {
			s.t.Fatal(err)
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may be half written
		s.read[file] += int64(len(text))
		s.held += bytes.Count(text, []byte(`"kind":"held"`))
	}
	return s.held
}
