package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quorumlock/redlock-go/redlock"
)

// print prints a checkup for people.
func (c *checkup) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "MASTER\tVOTES\tSEAT\tTERM\tVERSION\tROLE\tIDENTITY\tCLOCK\tTRIP\tPERSISTENCE\tEVICTION\tREPLICAS")
	for _, h := range c.masters {
		_, _ = fmt.Fprintln(t, strings.Join(row(h), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	said := []string{""}
	for _, h := range c.masters {
		for _, line := range append(problems(h), c.advice(h)...) {
			said = append(said, h.Master+": "+plain(line))
		}
	}
	for _, line := range c.warnings {
		said = append(said, plain(line))
	}
	if len(said) > 1 {
		said = append(said, "")
	}
	_, err := fmt.Fprintln(w, strings.Join(append(said, plain(c.verdict())), "\n"))
	return err
}

// plain makes text one line.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// row is what the table says of one master.
func row(h redlock.Health) []string {
	if h.Err != nil {
		cells := []string{h.Master, votes(h)}
		for range 10 {
			cells = append(cells, "-")
		}
		return cells
	}
	seat, term, clock := "-", "-", "-"
	if h.Seat > 0 {
		seat, term = fmt.Sprint(h.Seat), fmt.Sprint(h.Term)
	}
	if !h.Unguarded {
		clock = signed(h.Offset)
	}
	return []string{
		h.Master, votes(h), seat, term, orUnknown(h.Version), orUnknown(h.Role), shortIdentity(h.Identity), clock,
		readable(h.RoundTrip).String(), persistence(h), eviction(h), fmt.Sprint(h.Replicas),
	}
}

// votes says in few words whether a master's vote counts.
func votes(h redlock.Health) string {
	switch {
	case h.Votes && h.Unguarded:
		return "unguarded"
	case h.Votes:
		return "yes"
	case h.Until > 0 && h.Err == nil && h.Same == "":
		return fmt.Sprintf("in %v", (h.Until + time.Second - 1).Truncate(time.Second))
	default:
		return "no"
	}
}

// shortIdentity returns enough of an identity to see whether two are the same.
func shortIdentity(identity string) string {
	run, history, ok := strings.Cut(identity, "+")
	if !ok {
		return "?"
	}
	return run[:min(7, len(run))] + "+" + history[:min(7, len(history))]
}

// signed shows an offset with its sign.
func signed(d time.Duration) string {
	if d = readable(d); d > 0 {
		return "+" + d.String()
	}
	return d.String()
}

// readable cuts a duration down to what matters.
func readable(d time.Duration) time.Duration {
	switch {
	case d.Abs() >= time.Minute:
		return d.Round(time.Second)
	case d.Abs() >= time.Second:
		return d.Round(10 * time.Millisecond)
	default:
		return d.Round(10 * time.Microsecond)
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// checkupJSON is what doctor --json prints.
type checkupJSON struct {
	Fit       bool         `json:"fit"`
	Unguarded bool         `json:"unguarded"`
	Verdict   string       `json:"verdict"`
	MaxTTLMS  int64        `json:"max_ttl_ms"`
	Masters   []healthJSON `json:"masters"`
	Warnings  []string     `json:"warnings,omitempty"`
}

type healthJSON struct {
	Master      string   `json:"master"`
	Votes       bool     `json:"votes"`
	Unguarded   bool     `json:"unguarded"`
	Refused     bool     `json:"refused"` // something must be changed: time does not mend it
	WaitMS      int64    `json:"wait_ms,omitempty"`
	Seat        int      `json:"seat,omitempty"`
	Term        uint64   `json:"term,omitempty"`
	Group       string   `json:"group,omitempty"`
	Version     string   `json:"version,omitempty"`
	Role        string   `json:"role,omitempty"`
	Identity    string   `json:"identity,omitempty"`
	SameAs      string   `json:"same_as,omitempty"`
	OffsetUS    *int64   `json:"clock_offset_us,omitempty"`
	RoundTripUS int64    `json:"round_trip_us,omitempty"`
	Replicas    int      `json:"replicas"`
	AppendOnly  string   `json:"appendonly,omitempty"`
	AppendFsync string   `json:"appendfsync,omitempty"`
	Save        string   `json:"save,omitempty"`
	MaxMemory   string   `json:"maxmemory,omitempty"`
	Eviction    string   `json:"maxmemory_policy,omitempty"`
	Problems    []string `json:"problems,omitempty"`
	Advice      []string `json:"advice,omitempty"`
}

func (c *checkup) printJSON(w io.Writer) error {
	out := checkupJSON{
		Fit: c.fit(), Unguarded: c.unguarded(), Verdict: c.verdict(), MaxTTLMS: c.maxTTL.Milliseconds(), Warnings: c.warnings,
	}
	for _, h := range c.masters {
		m := healthJSON{
			Master: h.Master, Votes: h.Votes, Unguarded: h.Unguarded, Refused: refused(h), WaitMS: h.Until.Milliseconds(),
			Seat: h.Seat, Term: h.Term, Group: h.Group, Version: h.Version, Role: h.Role, Identity: h.Identity, SameAs: h.Same,
			RoundTripUS: h.RoundTrip.Microseconds(), Replicas: h.Replicas,
			AppendOnly: h.AppendOnly, AppendFsync: h.AppendFsync, Save: h.Save, MaxMemory: h.MaxMemory, Eviction: h.Eviction,
			Problems: problems(h), Advice: c.advice(h),
		}
		if h.Err == nil && !h.Unguarded {
			us := h.Offset.Microseconds()
			m.OffsetUS = &us
		}
		out.Masters = append(out.Masters, m)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
