package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorumlock/redlock-go/internal/lab"
)

const labArg = "lab"

// labWithPeers has the lab stage other libraries beside ours: go run . lab
func labWithPeers(ctx context.Context, args []string) int {
	flags := flag.NewFlagSet("bench lab", flag.ExitOnError)
	only := flags.String("fault", "", "only these faults, separated by commas")
	html := flags.String("html", "", "write the report to this file, as a page")
	markdown := flags.String("markdown", "", "write the matrix to its place in this file")
	seed := flags.Uint64("seed", 1, "when faults strike")
	_ = flags.Parse(args)
	c := lab.Config{Faults: lab.Faults(), Designs: peers(), Seed: *seed, Parallel: 3}
	for _, id := range []string{"textbook", "ours", "fenced"} {
		d, _ := lab.DesignOf(id)
		c.Designs = append(c.Designs, d)
	}
	if *only != "" {
		c.Faults = slices.DeleteFunc(c.Faults, func(f lab.Fault) bool { return !slices.Contains(strings.Split(*only, ","), f.ID) })
	}
	r := lab.NewReport(c)
	r.Cells = lab.Stage(ctx, c, func(cell *lab.Cell) { fmt.Fprintf(os.Stderr, "%v: %s\n", cell.ID(), cell.Sentence()) })
	r.Took = time.Since(r.Started)
	err := write(r, *html, *markdown)
	_, _, wrong, _ := r.Tally()
	if err != nil || len(wrong) > 0 {
		fmt.Fprintln(os.Stderr, len(wrong), "cells are not as expected", err)
		return 1
	}
	return 0
}

// write writes the report to where it belongs.
func write(r *lab.Report, html, markdown string) error {
	var page, document bytes.Buffer
	if err := r.HTML(&page); err != nil {
		return err
	}
	before, _ := os.ReadFile(markdown) // there may be none
	if err := r.Markdown(&document, string(before), "peers"); err != nil {
		return err
	}
	for path, text := range map[string][]byte{html: page.Bytes(), markdown: document.Bytes()} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
