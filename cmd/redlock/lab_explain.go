package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/internal/lab"
)

const explainHelp = `Stage one cell of the matrix, and tell its story: who did what when, who believed in the
lock when, and which command broke it. With --verbose, also each command that
reached a master.

  redlock lab explain restart-empty/textbook
  redlock lab explain restart-empty/ours`

func (a *app) explainCommand(x *experiment) *cobra.Command {
	return &cobra.Command{
		Use:                   "explain [flags] FAULT/LOCK",
		Short:                 "Stage one cell, and tell its story",
		Long:                  explainHelp,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("which cell? Give one as FAULT/LOCK: see redlock lab list")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.explain(cmd.Context(), x, args[0]) },
	}
}

func (a *app) explain(ctx context.Context, x *experiment, cell string) error {
	id, err := lab.ParseID(cell)
	if err != nil {
		return usage("%v: see redlock lab list", err)
	}
	c, err := a.labConfig(&experiment{faults: []string{id.Fault}, locks: []string{id.Design}, repeat: 1, seed: x.seed, parallel: 1})
	if err != nil {
		return err
	}
	r := a.experimentWith(ctx, c)
	a.colours()
	if !r.Whole() {
		return errInterrupted(r)
	}
	if err := a.tellCell(a.out, r.Cells[0]); err != nil {
		return failure(err)
	}
	if !r.Cells[0].Right() {
		return &exitError{code: exitUnexpected, outcome: failed, err: otherwise(r.Cells)}
	}
	return nil
}

// tellCell prints the story of a cell.
func (a *app) tellCell(w io.Writer, c *lab.Cell) error {
	f, _ := lab.FaultOf(c.Fault)
	d, _ := lab.DesignOf(c.Design)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\n%s\n\n", text.Bold.Sprint(d.Title), text.Bold.Sprint(f.Title), wrap(d.Words), wrap(f.Words))
	if run := c.Worst(); run != nil {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, l := range run.Evidence.Story(a.verbose) {
			_, _ = fmt.Fprintf(t, "%8s\t%s\t%s\n", l[0], l[1], l[2])
		}
		_ = t.Flush()
		if m := run.Culprit(); m != nil {
			fmt.Fprintf(&b, "\nThe command that broke it, on %s: %s\n", m.Lane, m.Text)
		}
	}
	s := inShort[c.Verdict]
	fmt.Fprintf(&b, "\n%s\n", text.Colors{s.color, text.Bold}.Sprint(c.Sentence()))
	_, err := io.WriteString(w, b.String())
	return err
}

func wrap(s string) string {
	lines := strings.Split(text.WrapSoft(s, 90), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ") // it fills them up
	}
	return strings.Join(lines, "\n")
}

func (a *app) labListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the faults and the locks",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(t, "LOCK\t")
			for _, d := range lab.Designs() {
				_, _ = fmt.Fprintf(t, "%s\t%s\n", d.ID, d.Title)
			}
			_, _ = fmt.Fprintln(t, "\t\nFAULT (* in the selection)\t")
			for _, f := range lab.Faults() {
				mark := ""
				if f.Short {
					mark = " *"
				}
				_, _ = fmt.Fprintf(t, "%s%s\t%s\n", f.ID, mark, f.Title)
			}
			return t.Flush()
		},
	}
}
