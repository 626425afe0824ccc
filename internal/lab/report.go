package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Report is what came of a session in the lab.
type Report struct {
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took_ns"`
	Seed    uint64        `json:"seed"`
	Repeat  int           `json:"repeat"`
	Masters string        `json:"masters"`
	Machine string        `json:"machine"`
	Cells   []*Cell       `json:"cells"`

	config Config
}

// NewReport begins a report.
func NewReport(c Config) *Report {
	r := &Report{config: c, Started: time.Now(), Seed: c.Seed, Repeat: max(1, c.Repeat), Masters: "masters inside this process (redlock-go without its guard)"}
	r.Machine = fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if !c.Inside {
		r.Masters = "redis-server"
		if out, err := exec.Command("redis-server", "--version").Output(); err == nil {
			for _, word := range strings.Fields(string(out)) {
				if v, ok := strings.CutPrefix(word, "v="); ok {
					r.Masters = "redis-server " + v
				}
			}
		}
	}
	return r
}

// Cell returns a cell, nil if it was not run.
func (r *Report) Cell(id ID) *Cell {
	for _, c := range r.Cells {
		if c.ID() == id {
			return c
		}
	}
	return nil
}

// Designs returns the columns, and Faults the rows.
func (r *Report) Designs() []Design { return r.config.Designs }

// Faults is told by Designs.
func (r *Report) Faults() []Fault { return r.config.Faults }

// Whole reports whether all that was to be run was.
func (r *Report) Whole() bool { return len(r.Cells) == len(r.config.Faults)*len(r.config.Designs) }

// Tally says how many cells were run, how often, and which of them came out otherwise than
// expected, or could not be run on this machine.
func (r *Report) Tally() (run, stagings int, wrong, skipped []*Cell) {
	for _, c := range r.Cells {
		switch {
		case c.Skipped != "":
			skipped = append(skipped, c)
		case c.Expected != None:
			run, stagings = run+1, stagings+len(c.Runs)
			if !c.Right() {
				wrong = append(wrong, c)
			}
		}
	}
	return run, stagings, wrong, skipped
}

// Summary says the tally in one sentence.
func (r *Report) Summary() string {
	run, stagings, wrong, skipped := r.Tally()
	text := fmt.Sprintf("%d cells, staged %d times in %v on %s, seed %d: %d as expected", run, stagings, r.Took.Round(time.Second), r.Masters, r.Seed, run-len(wrong))
	if len(wrong) > 0 {
		text += fmt.Sprintf(", %d OTHERWISE", len(wrong))
	}
	if len(skipped) > 0 {
		text += fmt.Sprintf(", %d not run here", len(skipped))
	}
	return text
}

// JSON writes all of the report, with the evidence of every staging.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Markdown writes the matrix: in its place in a document, between the lines <!-- place --> and
// <!-- /place -->, or alone if there is no such place.
func (r *Report) Markdown(w io.Writer, document, place string) error {
	begin, end := "<!-- "+place+" -->\n", "<!-- /"+place+" -->\n"
	head, rest, ok := strings.Cut(document, begin)
	_, tail, closed := strings.Cut(rest, end)
	text := r.matrix()
	if ok && closed {
		text = head + begin + text + end + tail
	}
	_, err := io.WriteString(w, text)
	return err
}

// matrix is the matrix in Markdown: a table for each half of the designs, as both don't fit on
// a page.
func (r *Report) matrix() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s, %s.\n", r.Summary(), r.Started.UTC().Format("2006-01-02"), r.Machine)
	designs := r.Designs()
	half := (len(designs) + 1) / 2
	for _, some := range [][]Design{designs[:half], designs[half:]} {
		b.WriteString("\n| |")
		for _, d := range some {
			b.WriteString(" " + d.Title + " |")
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(some)) + "\n")
		for _, f := range r.Faults() {
			b.WriteString("| " + f.Title + " |")
			for _, d := range some {
				b.WriteString(" " + r.Cell(ID{f.ID, d.ID}).inTable() + " |")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// inTable says what came of the cell, as short as can be.
func (c *Cell) inTable() string {
	switch {
	case c == nil, c.Expected == None:
		return ""
	case c.Failed() != "":
		return "not staged"
	case c.Skipped != "":
		return "not run"
	case !c.Verdict.Safe():
		return "**" + string(c.Verdict) + "**"
	}
	return string(c.Verdict)
}
