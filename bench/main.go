// Command bench measures locks side by side, in one run, on five real redis-server
// processes that it starts and ends itself.
//
// Rounds alternate between the locks, so that whatever else the machine does hits all
// of them; the median of the rounds is shown. Compare within one run, by ratio.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorumlock/redlock-go/internal/lab"
)

// silent is a go-redis logger.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

type config struct {
	Cell      time.Duration // how long one lock runs in one round of one scenario
	Rounds    int
	Workers   int
	Scenarios string
	Locks     string
	JSON      bool
}

func main() {
	peers()                   // a client of the lab is this program, and needs to know them
	lab.Main()                // does not return in one
	redis.SetLogger(silent{}) // the peers' connections would tell of each dead master, for ever
	if len(os.Args) > 1 && os.Args[1] == childArg {
		contendAsChild(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == holderArg {
		holdAsChild(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == labArg {
		os.Exit(labWithPeers(context.Background(), os.Args[2:]))
	}
	var c config
	flag.DurationVar(&c.Cell, "cell", 1500*time.Millisecond, "how long each lock runs, in each round of each scenario")
	flag.IntVar(&c.Rounds, "rounds", 3, "rounds; the median is shown")
	flag.IntVar(&c.Workers, "workers", 256, "workers of the scenarios with many")
	flag.StringVar(&c.Scenarios, "scenarios", "", "only scenarios with this in their name")
	flag.StringVar(&c.Locks, "locks", "", "only these locks, separated by commas")
	flag.BoolVar(&c.JSON, "json", false, "print JSON instead of tables")
	smoke := flag.Bool("smoke", false, "run everything for a moment, only to see that it runs")
	flag.Parse()
	if *smoke {
		c.Cell, c.Rounds, c.Workers = 150*time.Millisecond, 1, 16
	}
	signal.Ignore(syscall.SIGPIPE) // whoever reads no more must not leave the masters running
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func (c config) run(ctx context.Context) error {
	masters, err := startMasters(5)
	if err != nil {
		return err
	}
	defer masters.stop()
	for _, s := range scenarios(c.Workers) {
		if !strings.Contains(s.name, c.Scenarios) {
			continue
		}
		if err := c.show(ctx, s, masters); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if strings.Contains("fences", c.Scenarios) {
		if err := initialise(ctx, masters.addrs()); err != nil {
			return err
		}
		if err := c.fences(ctx, masters); err != nil {
			return err
		}
	}
	if strings.Contains("contended", c.Scenarios) {
		if err := initialise(ctx, masters.addrs()); err != nil {
			return err
		}
		if err := c.contended(ctx, masters); err != nil {
			return err
		}
		return takeover(ctx, masters, 3*c.Rounds)
	}
	return nil
}

// show runs one scenario with every lock and prints its table.
func (c config) show(ctx context.Context, s scenario, masters *masters) error {
	if err := initialise(ctx, masters.addrs()); err != nil {
		return err
	}
	addrs, undo, err := s.set(masters)
	if err != nil {
		return err
	}
	defer undo()
	all := map[string][]result{}
	for range c.Rounds {
		for _, l := range locks {
			if c.Locks != "" && !slices.Contains(strings.Split(c.Locks, ","), l.name) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := measure(ctx, l, addrs, s.workers, c.Cell)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			all[l.name] = append(all[l.name], r)
		}
	}
	rows := medians(all)
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"scenario": s.name, "rows": rows})
	}
	printTable(os.Stdout, s.name, rows)
	return nil
}

// scenario is what the masters are like, and how many workers ask.
type scenario struct {
	name    string
	workers int
	set     func(*masters) (addrs []string, undo func(), err error)
}

func scenarios(many int) []scenario {
	healthy := func(m *masters) ([]string, func(), error) { return m.addrs(), func() {}, nil }
	return []scenario{
		{"1 worker", 1, healthy},
		{fmt.Sprintf("%d workers, each on a name of its own", many), many, healthy},
		{"1 worker, one master dead", 1, (*masters).withOneDead},
		{"1 worker, one master hung", 1, (*masters).withOneHung},
		{fmt.Sprintf("%d workers, one master dead", many), many, (*masters).withOneDead},
		{fmt.Sprintf("%d workers, one master hung", many), many, (*masters).withOneHung},
		{"1 worker, 0.5 ms delay each way", 1, (*masters).withDelay},
		{fmt.Sprintf("%d workers, 0.5 ms delay each way", many), many, (*masters).withDelay},
	}
}
