package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const replaceHelp = `Give the place of the master OLD to the master NEW, for good.

The masters are those that are given, with NEW instead of OLD; a list that has NEW
already, and not OLD, is the new list. Where OLD is a URL, a NEW of the form host:port is
reached in the same way, with the same user and password.

It is your word that NEW is empty, or was never one of these masters, and that OLD is out
for good: should it come back, its votes count for nothing, also for a client that still
lists it. Locks can be held all the while. NEW votes when the longest ttl has passed, and
a bit. If this command is interrupted, what was begun goes on with any client that has
the new list. Doing it twice does no harm; of two who replace OLD by different masters,
one wins.

Afterwards give all clients the new list. One with the old list goes on, short of a vote.

It asks first, and needs a terminal for that, or --yes.

Exit code: 0 if NEW votes now, 1 if you did not say yes, 69 if too few masters answer, 78
if there is no place of OLD, 128+n if signal n came, 64 for wrong usage.`

func (a *app) replaceCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:                   "replace [flags] OLD NEW",
		Short:                 "Give the place of a master to another one",
		Long:                  replaceHelp,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("replace which master by which? Give OLD and NEW")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.replace(cmd.Context(), args[0], args[1], yes)
		},
	}
	addYes(cmd.Flags(), &yes)
	return cmd
}

func (a *app) replace(ctx context.Context, from, to string, yes bool) error {
	if err := a.mayOperate(yes, "replace"); err != nil {
		return err
	}
	if hasPassword([]string{from, to}) {
		return usage("a password in an argument can be read by everybody on this machine: use %s, or --masters-file", mastersVar)
	}
	old, err := a.masters.addresses()
	if err != nil {
		return err
	}
	list, err := replaced(old, from, to)
	if err != nil {
		return err
	}
	from, to = shown(from), shown(to)
	c, err := a.connectTo(&cluster{}, list, nil)
	if err != nil {
		return err
	}
	defer c.close()
	if !a.agreed(yes, replaceAsserts(c.names, from, to)) {
		return &exitError{code: exitNotHeld, outcome: failed, err: errors.New("replace: the masters are left as they are")}
	}
	return a.untilVotes(ctx, c, from, to)
}

// untilVotes gives the place away, and waits until it has a vote.
func (a *app) untilVotes(ctx context.Context, c *cluster, from, to string) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	takes := timeToVote(a.masters.maxTTL)
	patience := 2*takes + 10*time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	a.note("%s votes in about %v", to, takes)
	err := c.Replace(ctx, from, to)
	if s, ok := errors.AsType[signalError](context.Cause(ctx)); err != nil && ok {
		return &exitError{code: exitSignal + number(s.Signal), outcome: interrupted,
			err: fmt.Errorf("replace %s: interrupted; what was begun goes on with any client that has %s in its list", from, to)}
	} else if errors.Is(err, context.DeadlineExceeded) {
		return &exitError{code: exitNoQuorum, outcome: noQuorum,
			err: fmt.Errorf("replace %s: %s does not vote after %v: do all the others answer, and vote? See redlock doctor, with the new list", from, to, patience)}
	} else if err != nil {
		return failure(err)
	}
	_, err = fmt.Fprintf(a.out, "%s votes instead of %s; give all clients this list: %s\n", to, from, strings.Join(c.names, ","))
	return err
}

// timeToVote is about what a master without memory waits: the clocks that measure it may
// run apart.
func timeToVote(maxTTL time.Duration) time.Duration {
	return (maxTTL + maxTTL/10 + 500*time.Millisecond).Round(100 * time.Millisecond)
}

func replaceAsserts(names []string, from, to string) []string {
	text := []string{
		to + " is empty, or was never one of these masters, and",
		from + " is out for good: a client that still lists it will not count its votes.",
		"The masters are then:",
	}
	for _, n := range names {
		text = append(text, "  "+n)
	}
	return text
}

// replaced returns the new list of masters.
func replaced(list []string, from, to string) ([]string, error) {
	at := func(m string) int {
		return slices.IndexFunc(list, func(l string) bool { return shown(l) == shown(m) })
	}
	o, n := at(from), at(to)
	switch {
	case shown(from) == shown(to):
		return nil, usage("OLD and NEW are both %s: a master that lost its memory needs no place, and votes again by itself", shown(to))
	case o >= 0 && n >= 0:
		return nil, usage("both %s and %s are among the masters: give the old list, or the new one", shown(from), shown(to))
	case o < 0 && n < 0:
		return nil, usage("neither %s nor %s is among the masters", shown(from), shown(to))
	case n >= 0:
		return list, nil
	}
	list = slices.Clone(list)
	list[o] = reachedAs(list[o], to)
	return list, nil
}

// reachedAs returns how to reach a master: if it is an address alone, then as old is.
func reachedAs(old, master string) string {
	u, err := url.Parse(old)
	if err != nil || !strings.Contains(old, "://") || strings.Contains(master, "://") {
		return master
	}
	u.Host = master
	return u.String()
}

// untilSignal returns a context that a signal ends, which is the cause then.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 8)
	listen(signals)
	go func() {
		for {
			select {
			case s := <-signals:
				if endsWait(s) {
					cancel(signalError{s})
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
