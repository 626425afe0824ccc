package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

const statusHelp = `Show who holds the lock NAME: what each master says, and what the majority of all does.

  held       a majority has the same token. Nobody else gets the lock before the time
             that is shown has passed, unless the holder lets go, and it may extend it
  free       a majority has none
  split      several contend for it, and none of them has a majority
  no quorum  too few masters answer to tell

It is a look at one moment, and proves nothing about the next.

Exit code: 0 if that is known, 69 if there is no quorum.`

func (a *app) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "status [flags] NAME",
		Short:                 "Show who holds a lock",
		Long:                  statusHelp,
		Args:                  named,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.status(cmd.Context(), args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func (a *app) status(ctx context.Context, name string, asJSON bool) error {
	c, err := a.open(nil)
	if err != nil {
		return err
	}
	defer c.close()
	holdings, err := c.Inspect(ctx, name)
	if err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
		return failure(err)
	}
	v := judge(holdings)
	if asJSON {
		err = printJSON(a.out, name, holdings, v)
	} else {
		err = printTable(a.out, holdings, v)
	}
	if err != nil {
		return failure(err)
	}
	return v.exit(name, holdings)
}

// state is what a majority of the masters says of a lock.
type state string

const (
	stateHeld     state = "held"
	stateFree     state = "free"
	stateSplit    state = "split"
	stateNoQuorum state = "no quorum"
)

// verdict is what can be concluded from what each master says.
type verdict struct {
	state   state
	token   string        // of the holder
	atLeast time.Duration // how long nobody else gets it, unless the holder lets go; negative: for ever
}

// judge counts what the masters say. One that says nothing may hold anything.
func judge(holdings []redlock.Holding) verdict {
	majority := quorum.Majority(len(holdings))
	silent, most := 0, 0
	lives := map[string][]time.Duration{} // of each token's keys; "" for no key
	for _, h := range holdings {
		if h.Err != nil {
			silent++
			continue
		}
		lives[h.Token] = append(lives[h.Token], forLong(h.Left))
	}
	for token, l := range lives {
		if token == "" {
			continue
		}
		most = max(most, len(l))
		if len(l) >= majority {
			return verdict{stateHeld, token, leastOf(l, majority)}
		}
	}
	switch {
	case len(lives[""]) >= majority:
		return verdict{state: stateFree}
	case most+silent < majority:
		return verdict{state: stateSplit}
	default:
		return verdict{state: stateNoQuorum}
	}
}

const forever = time.Duration(1<<63 - 1)

// forLong returns the time that a key lives, as one that can be compared.
func forLong(left time.Duration) time.Duration {
	if left < 0 {
		return forever
	}
	return left
}

// leastOf returns how long a majority of the masters keeps a key, without the grace
// that no holder counts on; negative for ever.
func leastOf(lives []time.Duration, majority int) time.Duration {
	slices.Sort(lives)
	slices.Reverse(lives)
	life := lives[majority-1]
	if life == forever {
		return -1
	}
	return max(0, life-clock.Grace)
}

func (v verdict) String() string {
	switch {
	case v.state == stateHeld && v.atLeast < 0:
		return "held by " + legible(v.token) + " for ever: its keys have no end"
	case v.state == stateHeld:
		return fmt.Sprintf("held by %s for at least %v, unless it lets go", legible(v.token), short(v.atLeast))
	case v.state == stateSplit:
		return "split: several contend for it, and nobody holds it"
	}
	return string(v.state)
}

// exit is the end that a verdict leads to.
func (v verdict) exit(name string, holdings []redlock.Holding) error {
	if v.state != stateNoQuorum {
		return nil
	}
	var silent []string
	for _, h := range holdings {
		if h.Err != nil {
			silent = append(silent, unanswered(h))
		}
	}
	return &exitError{code: exitNoQuorum, outcome: noQuorum,
		err: fmt.Errorf("status %q: no quorum: %d of %d masters could say (%s)", name,
			len(holdings)-len(silent), len(holdings), strings.Join(silent, "; "))}
}

// unanswered says why a master could not, as votes do.
func unanswered(h redlock.Holding) string {
	return redlock.Vote{Master: h.Master, Answer: quorum.Unknown, Err: h.Err}.String()
}

func printTable(w io.Writer, holdings []redlock.Holding, v verdict) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(t, "MASTER\tHOLDER\tLEFT")
	for _, h := range holdings {
		switch {
		case h.Err != nil:
			_, _ = fmt.Fprintf(t, "%s\t?\t%s\n", h.Master, strings.TrimPrefix(unanswered(h), h.Master+": "))
		case h.Token == "":
			_, _ = fmt.Fprintf(t, "%s\t-\t-\n", h.Master)
		case h.Left < 0:
			_, _ = fmt.Fprintf(t, "%s\t%s\tfor ever\n", h.Master, legible(h.Token))
		default:
			_, _ = fmt.Fprintf(t, "%s\t%s\t%v\n", h.Master, legible(h.Token), short(h.Left))
		}
	}
	_, _ = fmt.Fprintf(t, "\n%v\n", v)
	return t.Flush() // with the first error of all
}

// legible returns a token as it is, unless it could do something to a terminal:
// anybody may have written the key.
func legible(token string) string {
	if strings.ContainsFunc(token, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(token)
	}
	return token
}

// statusJSON is what --json prints.
type statusJSON struct {
	Name    string       `json:"name"`
	State   state        `json:"state"`
	Token   string       `json:"token,omitempty"`
	LeftMS  *int64       `json:"left_ms,omitempty"` // at least; -1 for ever
	Masters []masterJSON `json:"masters"`
}

type masterJSON struct {
	Master string `json:"master"`
	Token  string `json:"token,omitempty"`
	LeftMS *int64 `json:"left_ms,omitempty"` // of the key; -1 for ever
	Error  string `json:"error,omitempty"`
}

func printJSON(w io.Writer, name string, holdings []redlock.Holding, v verdict) error {
	s := statusJSON{Name: name, State: v.state, Token: v.token}
	if v.state == stateHeld {
		s.LeftMS = orForever(v.atLeast)
	}
	for _, h := range holdings {
		m := masterJSON{Master: h.Master, Token: h.Token}
		if h.Err != nil {
			m.Error = h.Err.Error()
		} else if h.Token != "" {
			m.LeftMS = orForever(h.Left)
		}
		s.Masters = append(s.Masters, m)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// orForever is a time as JSON has it.
func orForever(d time.Duration) *int64 {
	if d < 0 {
		return milliseconds(-time.Millisecond)
	}
	return milliseconds(d)
}
