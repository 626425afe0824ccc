package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/internal/lab"
)

const labHelp = `Break locks, and see what each guarantees: start real masters and clients, run the lock
designs that are in use under the faults that are known to break them, and show who broke,
when and why.

Without flags it runs a selection of the faults, which takes one or two minutes. It needs
redis-server on PATH, or Docker (on Linux), and gcc to step a master's clock. Where there is
neither it uses masters inside this process, which can't be killed or lose power: it says
what that leaves out.

  redlock lab                                    a selection of faults, all locks
  redlock lab --all --html report.html           everything, in some minutes, as a page
  redlock lab --fault restart-empty,flushall     some faults
  redlock lab --lock token,textbook,ours         some locks
  redlock lab explain restart-empty/token        one cell, and its story
  redlock lab list                               the faults and the locks

A cell that comes out otherwise than is known of it is an error, also when a lock that is
known to be wrong survives.

Exit code: 0 if all is as expected, 1 if not.`

// exitUnexpected is what lab exits with when a cell is otherwise than expected.
const exitUnexpected = 1

// experiment is what is to be run in the lab.
type experiment struct {
	all      bool
	faults   []string
	locks    []string
	repeat   int
	seed     uint64
	parallel int
	json     bool
	html     string
	markdown string
}

func (a *app) labCommand() *cobra.Command {
	x := &experiment{}
	cmd := &cobra.Command{
		Use:                   "lab [flags]",
		Short:                 "Break locks, and see what each guarantees",
		Long:                  labHelp,
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.lab(cmd.Context(), x) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&x.all, "all", false, "run all faults, not only the selection")
	flags.StringSliceVar(&x.faults, "fault", nil, "run these faults only")
	flags.StringSliceVar(&x.locks, "lock", nil, "run these locks only")
	flags.IntVar(&x.repeat, "repeat", 1, "stage each cell so many times")
	flags.IntVar(&x.parallel, "parallel", min(3, runtime.NumCPU()+1), "stage so many cells at a time")
	flags.BoolVar(&x.json, "json", false, "print everything that was measured, as JSON")
	flags.StringVar(&x.html, "html", "", "write the report to this file, as a page that needs nothing else")
	flags.StringVar(&x.markdown, "markdown", "", "write the matrix to this file, as Markdown; between <!-- lab --> and <!-- /lab --> if it has these lines")
	cmd.PersistentFlags().Uint64Var(&x.seed, "seed", 0, "when faults strike, within milliseconds (default 0: a random one, which is shown)")
	cmd.MarkFlagsMutuallyExclusive("all", "fault")
	cmd.AddCommand(a.explainCommand(x), a.labListCommand())
	return cmd
}

// lab runs an experiment and shows what came of it.
func (a *app) lab(ctx context.Context, x *experiment) error {
	c, err := a.labConfig(x)
	if err != nil {
		return err
	}
	outputs, err := openAll(x.html, x.markdown) // before minutes of work
	if err != nil {
		return usage("%v", err)
	}
	defer outputs.close()
	r := a.experimentWith(ctx, c)
	a.colours()
	if !r.Whole() { // and what is there already stays
		_ = printMatrix(a.out, r)
		return errInterrupted(r)
	}
	show := r.JSON
	if !x.json {
		show = func(w io.Writer) error { return printMatrix(w, r) }
	}
	err = show(a.out)
	for path, write := range map[string]func(io.Writer, string) error{
		x.html:     func(w io.Writer, _ string) error { return r.HTML(w) },
		x.markdown: func(w io.Writer, before string) error { return r.Markdown(w, before, "lab") },
	} {
		if f := outputs[path]; f != nil && err == nil {
			err = rewrite(f, write)
		}
	}
	if err != nil {
		return failure(err)
	}
	if _, _, wrong, _ := r.Tally(); len(wrong) > 0 {
		return &exitError{code: exitUnexpected, outcome: failed, err: otherwise(wrong)}
	}
	return nil
}

// errInterrupted says how far an experiment came.
func errInterrupted(r *lab.Report) error {
	return &exitError{code: exitSignal + int(syscall.SIGINT), outcome: interrupted, err: fmt.Errorf("interrupted after %d cells", len(r.Cells))}
}

// colours has only a terminal be coloured.
func (a *app) colours() {
	if !isTerminal(a.out) || os.Getenv("NO_COLOR") != "" {
		text.DisableColors()
	}
}

// otherwise names the cells that did not come out as expected.
func otherwise(wrong []*lab.Cell) error {
	var names []string
	for _, c := range wrong {
		names = append(names, fmt.Sprintf("%v: %s", c.ID(), c.Sentence()))
	}
	return fmt.Errorf("not as expected: %s", strings.Join(names, " "))
}

// labConfig says what is to be run, or what is wrong with the flags.
func (a *app) labConfig(x *experiment) (lab.Config, error) {
	c := lab.Config{Designs: lab.Designs(), Repeat: x.repeat, Seed: x.seed, Parallel: x.parallel, Inside: a.masters.embedded}
	if c.Seed == 0 {
		c.Seed = rand.Uint64N(1_000_000)
	}
	if len(a.masters.list) > 0 || a.masters.file != "" {
		return c, usage("the lab starts masters of its own: not with --masters or --masters-file")
	}
	if x.repeat < 1 || x.parallel < 1 {
		return c, usage("--repeat and --parallel must be 1 or more")
	}
	for _, f := range lab.Faults() {
		if x.all || f.Short && len(x.faults) == 0 || slices.Contains(x.faults, f.ID) {
			c.Faults = append(c.Faults, f)
		}
	}
	for _, id := range x.faults {
		if _, ok := lab.FaultOf(id); !ok {
			return c, usage("there is no fault %q: see redlock lab list", id)
		}
	}
	for _, id := range x.locks {
		if _, ok := lab.DesignOf(id); !ok {
			return c, usage("there is no lock %q: see redlock lab list", id)
		}
	}
	if len(x.locks) > 0 {
		c.Designs = slices.DeleteFunc(c.Designs, func(d lab.Design) bool { return !slices.Contains(x.locks, d.ID) })
	}
	return c, nil
}

// experimentWith stages the cells on the best masters that there are, and shows how far it is.
func (a *app) experimentWith(ctx context.Context, c lab.Config) *lab.Report {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop() // a second one ends the program
		a.note("interrupted: finishing the cells that have begun")
	})()
	if !c.Inside && !lab.RealMasters() {
		a.note("there is no redis-server on PATH: trying a container")
		r, err := inContainer(ctx, c, a.err)
		if err == nil || ctx.Err() != nil {
			return cmp.Or(r, lab.NewReport(c))
		}
		a.note("using masters inside this process, which can't be killed or lose power: %v", err)
		c.Inside = true
	}
	r := lab.NewReport(c)
	p := a.newProgress(c)
	r.Cells = lab.Stage(ctx, c, p.done)
	p.end()
	r.Took = time.Since(r.Started)
	return r
}

// printMatrix prints the matrix for people.
func printMatrix(w io.Writer, r *lab.Report) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	head := table.Row{"fault"}
	for _, d := range r.Designs() {
		head = append(head, d.ID)
	}
	t.AppendHeader(head)
	for _, f := range r.Faults() {
		row := table.Row{f.ID}
		for _, d := range r.Designs() {
			row = append(row, inMatrix(r.Cell(lab.ID{Fault: f.ID, Design: d.ID})))
		}
		t.AppendRow(row)
	}
	_, err := fmt.Fprintf(w, "%s\n\n%s\n\n%s%s.\n%s", t.Render(), legend, stocks(r), r.Summary(), because(r))
	return err
}

const legend = `TWO two holders · LOST an update · STUCK for ever · blocked for some time · refused, and says
why · down while the fault lasts · blank: no meaning · - not run here · ! not as expected`

// stocks says what was left where a stock was sold.
func stocks(r *lab.Report) string {
	var left []string
	var s *lab.Stock
	for _, c := range r.Cells {
		if run := c.Worst(); run != nil && run.Evidence.Sold != nil {
			s = run.Evidence.Sold
			left = append(left, fmt.Sprintf("%s %d", c.Design, s.Left))
		}
	}
	if s == nil {
		return ""
	}
	return fmt.Sprintf("Left of %d pieces after %d sales, where one should be: %s.\n\n", s.Pieces, s.Workers, strings.Join(left, ", "))
}

// because says why some cells were not run.
func because(r *lab.Report) string {
	reasons := map[string]int{}
	_, _, _, skipped := r.Tally()
	for _, c := range skipped {
		reasons[c.Skipped]++
	}
	var b strings.Builder
	for why, n := range reasons {
		fmt.Fprintf(&b, "Not run, in %d cells: %s.\n", n, why)
	}
	return b.String()
}

var inShort = map[lab.Verdict]struct {
	text  string
	color text.Color
}{
	lab.OK:          {"ok", text.FgGreen},
	lab.TwoHolders:  {"TWO", text.FgHiRed},
	lab.LostUpdate:  {"LOST", text.FgHiRed},
	lab.Stuck:       {"STUCK", text.FgHiMagenta},
	lab.Blocked:     {"blocked", text.FgYellow},
	lab.Refused:     {"refused", text.FgCyan},
	lab.Unavailable: {"down", text.FgCyan},
}

// inMatrix is a cell of the matrix; one that is not as expected has an exclamation mark.
func inMatrix(c *lab.Cell) string {
	switch {
	case c == nil, c.Expected == lab.None:
		return ""
	case c.Failed() != "":
		return text.FgHiRed.Sprint("failed !")
	case c.Skipped != "":
		return "-"
	}
	s := inShort[c.Verdict]
	if !c.Right() {
		return text.Colors{s.color, text.Bold}.Sprint(s.text + " !")
	}
	return s.color.Sprint(s.text)
}

// outputFiles are files to be written, by path.
type outputFiles map[string]*os.File

func openAll(paths ...string) (outputFiles, error) {
	all := outputFiles{}
	for _, p := range paths {
		if p == "" {
			continue
		}
		f, err := os.OpenFile(p, os.O_RDWR|os.O_CREATE, 0o644) // what it has is still needed
		if err != nil {
			all.close()
			return nil, err
		}
		all[p] = f
	}
	return all, nil
}

// rewrite has write replace what a file has.
func rewrite(f *os.File, write func(w io.Writer, before string) error) error {
	before, err := io.ReadAll(f)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	return write(f, string(before))
}

func (o outputFiles) close() {
	for _, f := range o {
		_ = f.Close()
	}
}
