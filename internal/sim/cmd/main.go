// Command sim runs seeds of the simulation, and tells what came of them.
//
//	go run ./internal/sim/cmd -seeds 1000000
//	go run ./internal/sim/cmd -seed 42          # the story of one
//	go run ./internal/sim/cmd -mutants
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/quorumlock/redlock-go/internal/sim"
)

func main() {
	seeds := flag.Int("seeds", 100_000, "how many seeds to run of each class")
	from := flag.Uint64("from", 0, "the first of them")
	seed := flag.Int64("seed", -1, "tell the story of this one, instead")
	out := flag.Bool("out-of-model", false, "of -seed: of the class in which clocks and pauses are beyond what is promised")
	mutants := flag.Bool("mutants", false, "look for what is wrong with each mutant, instead")
	flag.Parse()
	debug.SetGCPercent(800) // runs are short, and leave nothing: a quarter of the time
	var ok bool
	switch {
	case *seed >= 0:
		ok = story(sim.Config{Seed: uint64(*seed), OutOfModel: *out})
	case *mutants:
		ok = hunt()
	default:
		ok = batch("in-model: the lock must exclude, and its fences grow", sim.Config{}, *from, *seeds) &&
			batch("out-of-model: the fences must grow", sim.Config{OutOfModel: true}, *from, *seeds/10)
	}
	if !ok {
		os.Exit(1)
	}
}

func story(c sim.Config) bool {
	r := sim.Shrink(c)
	if len(r.Violations) == 0 {
		c.Tell = true
		r = sim.Run(c)
	}
	fmt.Print(r.Tale())
	return len(r.Violations) == 0
}

func batch(title string, c sim.Config, from uint64, n int) bool {
	start := time.Now()
	s := sim.Batch(c, from, n, runtime.GOMAXPROCS(0), func(s sim.Summary) {
		if s.Seeds%10_000 == 0 {
			fmt.Fprintf(os.Stderr, "\r%d seeds, %d failed%s, %.0f a second ", s.Seeds, s.Failed, first(s), float64(s.Seeds)/time.Since(start).Seconds())
		}
	})
	took := time.Since(start)
	fmt.Fprint(os.Stderr, "\r")
	fmt.Printf("%s\n%v\n%.0f s on %d processors, %.0f seeds/s, %.0f times as fast as real time\n\n", title, &s,
		took.Seconds(), runtime.GOMAXPROCS(0), float64(n)/took.Seconds(), s.Virtual.Seconds()/took.Seconds())
	if s.First == nil {
		return true
	}
	c.Seed = s.First.Seed
	r := sim.Shrink(c)
	flags := ""
	if c.OutOfModel {
		flags = " -out-of-model"
	}
	fmt.Printf("seed %d fails. Again: go run ./internal/sim/cmd%s -seed %d\n%s", c.Seed, flags, c.Seed, r.Tale())
	return false
}

func hunt() bool {
	ok := true
	for _, m := range sim.Mutants() {
		s, found := m.Hunt(runtime.GOMAXPROCS(0))
		first := "never"
		if s.First != nil {
			first = fmt.Sprint(s.First.Seed)
		}
		fmt.Printf("%-50s found %v, first seed %s, in %d seeds: %v\n", m.Name, found, first, s.Seeds, s.ByCheck)
		ok = ok && found
	}
	return ok
}

// first tells the first seed that failed.
func first(s sim.Summary) string {
	if s.First == nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", s.First.Seed)
}
