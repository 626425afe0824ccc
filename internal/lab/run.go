package lab

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/internal/locks"
)

// insideKind is our lock on embedded masters, which are no group.
const insideKind = locks.Unguarded

// Config says what is run.
type Config struct {
	Faults   []Fault
	Designs  []Design
	Repeat   int    // how many times each cell is staged
	Seed     uint64 // when, within some milliseconds, faults strike
	Parallel int    // how many cells at a time
	Inside   bool   // on masters inside this process, where there is no redis-server
}

// Cell is what came of a design under a fault.
type Cell struct {
	Fault    string  `json:"fault"`
	Design   string  `json:"design"`
	Expected Verdict `json:"expected"`
	Verdict  Verdict `json:"verdict"`           // the worst of all runs
	Measured string  `json:"measured"`          // the verdict in figures
	Skipped  string  `json:"skipped,omitempty"` // what this machine lacks
	Runs     []Run   `json:"runs,omitempty"`

	fault  Fault
	design Design
}

// ID returns the cell's name.
func (c *Cell) ID() ID { return ID{c.Fault, c.Design} }

// Right reports whether it came out as expected, each time.
func (c *Cell) Right() bool {
	for _, r := range c.Runs {
		if r.Failed != "" || r.Verdict != c.Expected {
			return false
		}
	}
	return true
}

// Run is one staging of a cell.
type Run struct {
	Verdict  Verdict  `json:"verdict"`
	Failed   string   `json:"failed,omitempty"` // why it could not be staged
	Evidence Evidence `json:"evidence"`
}

// RealMasters reports whether there is a redis-server to run.
func RealMasters() bool {
	_, err := exec.LookPath("redis-server")
	return err == nil
}

// Stage runs cells, some at a time, and tells of each when it is done. It returns them in the
// order of the matrix; those that ctx has cut off are not among them.
func Stage(ctx context.Context, c Config, done func(*Cell)) []*Cell {
	redis.SetLogger(silent{}) // of masters that are down, which they are meant to be
	var cells []*Cell
	for _, f := range c.Faults {
		for _, d := range c.Designs {
			v := d.expected(f.ID)
			cells = append(cells, &Cell{Fault: f.ID, Design: d.ID, Expected: v, Verdict: v, fault: f, design: d})
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex // guards finished, and has done called once at a time
	finished := map[*Cell]bool{}
	turns := make(chan struct{}, max(1, c.Parallel))
	for _, cell := range cells {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-turns }()
			if !c.stage(ctx, cell) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			finished[cell] = true
			done(cell)
		})
	}
	all.Wait()
	var whole []*Cell
	for _, cell := range cells {
		if finished[cell] {
			whole = append(whole, cell)
		}
	}
	return whole
}

// stage runs a cell as many times as it is to be run, and reports whether ctx let it.
func (c Config) stage(ctx context.Context, cell *Cell) bool {
	f, d := cell.fault, cell.design
	switch {
	case cell.Expected == None:
		return true
	case c.Inside && (!f.inside || d.fenced || d.layout == pair):
		cell.Skipped = "it takes masters that can be broken: redis-server on PATH"
		return true
	}
	for i := range max(1, c.Repeat) {
		if i > 0 && ctx.Err() != nil {
			return false
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(cell.ID().String()))
		r, skipped := stageOnce(&f, d, rand.New(rand.NewPCG(c.Seed+uint64(i), h.Sum64())), c.Inside)
		if skipped != "" {
			cell.Skipped = skipped
			return true
		}
		cell.Runs = append(cell.Runs, r)
		if i == 0 || r.Failed == "" && r.Verdict != cell.Expected {
			cell.Verdict, cell.Measured = r.Verdict, measure(r.Verdict, &r.Evidence)
		}
	}
	return true
}

func stageOnce(f *Fault, d Design, rng *rand.Rand, inside bool) (r Run, skipped string) {
	s := &stage{scene: &scene{}, design: d, rng: rng, inside: inside}
	s.play(func() {
		s.open(f)
		if f.deploy != nil {
			f.deploy(s)
		}
		if s.design.layout == pair && s.replica == nil {
			s.follow()
		}
		s.rec = newRecord()
		if s.found() {
			time.Sleep(s.upTo(20 * time.Millisecond))
			f.run(s)
		}
		r.Evidence = s.evidence()
	})
	if s.failed != "" {
		r.Failed = s.failed
		if s.rec != nil {
			r.Evidence = s.rec.evidence() // what there is of it
		}
		return r, ""
	}
	r.Verdict = judge(&r.Evidence)
	return r, s.skipped
}
