package lab

import (
	"fmt"
	"strings"
	"time"
)

// Worst returns the run that decided the cell's verdict, nil if there was none.
func (c *Cell) Worst() *Run {
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Failed == "" && r.Verdict == c.Verdict {
			return r
		}
	}
	return nil
}

// Failed returns why the cell could not be staged, "" if it could.
func (c *Cell) Failed() string {
	for _, r := range c.Runs {
		if r.Failed != "" {
			return r.Failed
		}
	}
	return ""
}

// Sentence says in one sentence what came of the cell.
func (c *Cell) Sentence() string {
	switch {
	case c.Failed() != "":
		return "It could not be staged: " + c.Failed()
	case c.Skipped != "":
		return "It was not run: " + c.Skipped
	case c.Expected == None:
		return "This fault has no meaning for this lock."
	}
	text := strings.ToUpper(string(c.Verdict[:1])) + string(c.Verdict[1:])
	if c.Measured != "" {
		text += ": " + c.Measured
	}
	if !c.Right() {
		text += fmt.Sprintf(" (expected: %s)", c.Expected)
	}
	return text + "."
}

// Story tells a run line by line: when, who, what. Without commands it leaves out what was
// sent to the masters.
func (e *Evidence) Story(commands bool) [][3]string {
	var lines [][3]string
	for _, m := range e.Moments {
		if m.Kind != Written && (m.Kind != Command || commands) {
			lines = append(lines, [3]string{pretty(m.At), m.Lane, m.Text})
		}
	}
	return lines
}

// Culprit returns the command that broke the lock, nil if none did: one that came late, or else
// the one by which the struck master let the second of two holders in.
func (r *Run) Culprit() *Moment {
	e := &r.Evidence
	if r.Verdict.Safe() && r.Verdict != Blocked {
		return nil
	}
	for i, m := range e.Moments {
		if m.Kind == Command && m.Lane == e.Struck && strings.HasPrefix(m.Text, lately) {
			return &e.Moments[i]
		}
	}
	if len(e.Overlaps) == 0 {
		return nil
	}
	at, second := e.Overlaps[0].From, ""
	for _, h := range e.Holds {
		if h.From == at {
			second = h.Lane
		}
	}
	var found *Moment
	for i, m := range e.Moments {
		if m.Kind == Command && m.At <= at && m.Lane == e.Struck && strings.HasPrefix(m.Text, "from "+second+":") && !strings.Contains(m.Text, "SUBSCRIBE") {
			found = &e.Moments[i]
		}
	}
	return found
}

// pretty writes a time for reading.
func pretty(m Millis) string {
	d := time.Duration(float64(m) * float64(time.Millisecond))
	switch {
	case d >= time.Minute:
		return d.Round(time.Minute).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// said writes a command for a timeline: what it is, and not its random token.
func said(command []string) string {
	words := []string{strings.ToUpper(command[0])}
	for _, w := range command[1:] {
		switch {
		case len(w) > 12 && w != name:
			words = append(words, w[:6]+"…")
		default:
			words = append(words, w)
		}
	}
	if len(words) > 8 {
		words = append(words[:8], "…")
	}
	return strings.Join(words, " ")
}
