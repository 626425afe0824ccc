package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/redlock"
)

const initHelp = `Make the masters a group, in which they may vote. Do it once, before the first lock is
taken; and again where redlock doctor says so.

It is your word that no lock is held on these masters, by any client, and that none is
being taken: nothing here can find that out. What they have granted so far counts for
nothing afterwards. All of them must answer. It can be done again: masters that all
vote together are left as they are.

It asks first, and needs a terminal for that, or --yes.

Exit code: 0 if all masters vote now, 1 if you did not say yes, 69 if one does not answer,
78 if one can't be a master of its own, 64 for wrong usage.`

// initPatience is how long masters that answer may take to become a group.
const initPatience = 10 * time.Second

func (a *app) initCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:                   "init [flags]",
		Short:                 "Make the masters a group, before the first lock",
		Long:                  initHelp,
		Args:                  noArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.initialise(cmd.Context(), yes)
		},
	}
	addYes(cmd.Flags(), &yes)
	return cmd
}

func (a *app) initialise(ctx context.Context, yes bool) error {
	c, err := a.operate(yes, "init")
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(ctx, initPatience)
	defer cancel()
	voting := count(c.Health(ctx), func(h redlock.Health) bool { return h.Votes })
	if voting < len(c.names) && !a.agreed(yes, initAsserts(c.names, voting)) {
		return &exitError{code: exitNotHeld, outcome: failed, err: errors.New("init: the masters are left as they are")}
	}
	if err = c.Init(ctx); errors.Is(err, context.DeadlineExceeded) {
		return &exitError{code: exitNoQuorum, outcome: noQuorum,
			err: fmt.Errorf("init: the masters did not become a group within %v: see redlock doctor", initPatience)}
	} else if err != nil {
		return failure(err)
	}
	_, err = fmt.Fprintf(a.out, "all %d masters vote: %s\n", len(c.names), strings.Join(c.names, ", "))
	return err
}

// initAsserts is what is taken for true.
func initAsserts(names []string, voting int) []string {
	text := []string{"No lock is held on these masters, by any client, and none is being taken:"}
	for _, n := range names {
		text = append(text, "  "+n)
	}
	if voting > 0 {
		already := "1 of them votes"
		if voting > 1 {
			already = fmt.Sprintf("%d of them vote", voting)
		}
		text = append(text, already+" already. A new group ends theirs: where one of many was replaced, or waits,",
			"this is the wrong command (see redlock doctor).")
	}
	return text
}

// operate opens the masters for an operator who is to be asked.
func (a *app) operate(yes bool, what string) (*cluster, error) {
	if err := a.mayOperate(yes, what); err != nil {
		return nil, err
	}
	return a.open(nil)
}

// mayOperate refuses what makes no sense for these masters, or asks where nobody answers.
func (a *app) mayOperate(yes bool, what string) error {
	if a.masters.embedded {
		return usage("%s: masters in memory need it not", what)
	}
	if unguarded, err := a.unguarded(); err != nil {
		return err
	} else if unguarded {
		return usage("%s: masters without the guard need it not: leave out --unguarded (%s)", what, unguardedVar)
	}
	return a.canAsk(yes, what)
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments: %d were given", cmd.Name(), len(args))
	}
	return nil
}

// count returns how many of a list are so.
func count[T any](list []T, so func(T) bool) int {
	n := 0
	for _, v := range list {
		if so(v) {
			n++
		}
	}
	return n
}
