package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/quorum"
	"github.com/quorumlock/redlock-go/redlock"
)

const doctorHelp = `Show what each master is like, whether its vote counts, and what to do where it does not.

  VOTES    yes        its vote counts: it remembers all that it granted
           in 12s     it may have forgotten something, and waits until that can't matter
           no         see below the table why
           unguarded  it votes, whether or not it remembers
  SEAT     its place in the group, and TERM how often that was given anew
  CLOCK    how far its clock is ahead of the middle one of all
  TRIP     how long it took to connect to it, and to answer

Then follows what is wrong or could be better, one line each, and the verdict. It changes
nothing, except that masters which may have forgotten begin to wait.

Exit code: 0 if the masters are fit, which means that all vote; 78 if one of them, or the
list, must be changed, or was never initialised; 69 if one is away or waiting.`

// doctorPatience is how long masters that answer may take to say all.
const doctorPatience = 15 * time.Second

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:                   "doctor [flags]",
		Short:                 "Show whether the masters are fit to vote",
		Long:                  doctorHelp,
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return cmd
}

func (a *app) doctor(ctx context.Context, asJSON bool) error {
	c, err := a.connect(nil)
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	found := checkup{masters: c.Health(ctx), warnings: c.Warnings(), maxTTL: a.masters.maxTTL}
	if asJSON {
		err = found.printJSON(a.out)
	} else {
		err = found.print(a.out)
	}
	if err != nil {
		return failure(err)
	}
	return found.exit()
}

// checkup is what the masters are like.
type checkup struct {
	masters  []redlock.Health
	warnings []string // about all of them
	maxTTL   time.Duration
}

// votes returns how many masters vote.
func (c *checkup) votes() int {
	return count(c.masters, func(h redlock.Health) bool { return h.Votes })
}

func (c *checkup) fit() bool { return c.votes() == len(c.masters) }

func (c *checkup) unguarded() bool { return c.masters[0].Unguarded }

// refused reports whether a master, or the list, must be changed.
func refused(h redlock.Health) bool {
	return h.Refused || h.Same != "" || errors.Is(h.Err, redlock.ErrUnsafe)
}

func (c *checkup) exit() error {
	verdict := &exitError{code: exitNoQuorum, outcome: noQuorum, err: errors.New(c.verdict()), told: true}
	switch {
	case c.fit():
		return nil
	case count(c.masters, refused) > 0:
		verdict.code, verdict.outcome = exitUnsafe, unsafe
	}
	return verdict
}

// verdict is all of it in one line.
func (c *checkup) verdict() string {
	n, votes := len(c.masters), c.votes()
	switch {
	case c.fit() && c.unguarded():
		return fmt.Sprintf("fit, but unguarded: all %s, also after they have forgotten what they granted", masterVotes(n))
	case c.fit():
		return "fit: all " + masterVotes(n)
	}
	why := ""
	if same := c.commonTrouble(); same != "" {
		why = ": " + same
	}
	switch {
	case votes == 0:
		return fmt.Sprintf("not fit: none of %d votes%s", n, why)
	case votes < quorum.Majority(n):
		return fmt.Sprintf("not fit: %d of %s, and it takes %d: nobody gets a lock%s", votes, masterVotes(n), quorum.Majority(n), why)
	default:
		return fmt.Sprintf("not fit: %d of %s, which is enough to take locks", votes, masterVotes(n))
	}
}

func masterVotes(n int) string {
	if n == 1 {
		return "1 master votes"
	}
	return fmt.Sprintf("%d masters vote", n)
}

// commonTrouble returns why masters do not vote, if it is the same for all that do not.
func (c *checkup) commonTrouble() string {
	why := ""
	for _, h := range c.masters {
		switch {
		case h.Votes:
		case h.Why == "" || why != "" && h.Why != why:
			return ""
		default:
			why = h.Why
		}
	}
	return strings.TrimPrefix(why, redlock.ErrUnsafe.Error()+": ")
}

// problems returns why a master's vote does not count.
func problems(h redlock.Health) []string {
	var all []string
	if h.Err != nil {
		all = append(all, strings.TrimPrefix(redlock.Vote{Master: h.Master, Err: h.Err}.String(), h.Master+": "))
	}
	if h.Same != "" {
		all = append(all, "it is the same master as "+h.Same+", and has one vote there: list each once")
	}
	if h.Why != "" {
		all = append(all, h.Why)
	}
	return all
}
