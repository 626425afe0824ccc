package main

import (
	"fmt"
	"strings"

	"github.com/quorumlock/redlock-go/internal/lab"
)

// progress shows how far an experiment is: a line that changes on a terminal, a line a fault
// elsewhere.
type progress struct {
	a        *app
	terminal bool
	faults   []lab.Fault
	total    int
	count    int
	left     map[string]int // cells of each fault
}

func (a *app) newProgress(c lab.Config) *progress {
	p := &progress{a: a, faults: c.Faults, left: map[string]int{}}
	for _, f := range c.Faults {
		p.left[f.ID] = len(c.Designs)
		p.total += len(c.Designs)
	}
	p.terminal = isTerminal(a.err) && !a.quiet
	return p
}

// done takes a cell that was staged.
func (p *progress) done(c *lab.Cell) {
	p.count++
	p.left[c.Fault]--
	if p.terminal {
		const bar = 24
		full := p.count * bar / p.total
		_, _ = fmt.Fprintf(p.a.err, "\r\x1b[K%s%s %d of %d  %v: %s", strings.Repeat("█", full), strings.Repeat("░", bar-full), p.count, p.total, c.ID(), c.Verdict)
	} else if p.left[c.Fault] == 0 {
		p.a.detail("%d of %d cells; done with %s", p.count, p.total, c.Fault)
	}
}

func (p *progress) end() {
	if p.terminal {
		_, _ = fmt.Fprint(p.a.err, "\r\x1b[K")
	}
}
