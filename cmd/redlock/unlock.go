package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/redlock"
)

const unlockHelp = `Free the lock NAME on every master, whoever took it.

With --token, it is freed where that token holds it, and nowhere else: for a lock that
was handed over, or whose holder is known to be dead.

With --force, it is freed whoever holds it, after a look at who does, and a question.
The holder is not asked, and learns of it when it next extends the lock: until then
two can be at work at once.

Exit code: 0 if it is free of that token now, 1 if the token did not hold it, 69 if
there is no quorum, 64 for wrong usage; --force needs a terminal, or --yes.`

// unlockFlags are what unlock is asked for.
type unlockFlags struct {
	token string
	force bool
	yes   bool
}

func (a *app) unlockCommand() *cobra.Command {
	var f unlockFlags
	cmd := &cobra.Command{
		Use:                   "unlock [flags] NAME",
		Short:                 "Free a lock that somebody else took",
		Long:                  unlockHelp,
		Args:                  named,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.unlock(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.token, "token", "", "free it where `TOKEN` holds it")
	cmd.Flags().BoolVar(&f.force, "force", false, "free it whoever holds it")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "with --force, don't ask")
	cmd.MarkFlagsMutuallyExclusive("token", "force")
	return cmd
}

func (a *app) unlock(ctx context.Context, name string, f unlockFlags) error {
	switch {
	case f.token == "" && !f.force:
		return usage("unlock %q: say who holds it with --token, or use --force", name)
	case f.yes && !f.force:
		return usage("--yes goes with --force")
	}
	if f.force {
		if err := a.canAsk(f.yes, fmt.Sprintf("unlock %q: --force", name)); err != nil {
			return err
		}
	}
	c, err := a.open(nil)
	if err != nil {
		return err
	}
	defer c.close()
	if f.force {
		return a.unlockAll(ctx, c, name, f.yes)
	}
	err = c.Unlock(ctx, name, f.token)
	switch {
	case errors.Is(err, redlock.ErrNotHeld):
		return &exitError{code: exitNotHeld, outcome: failed, err: err}
	case err != nil:
		return failure(err)
	}
	return nil
}

// unlockAll frees the lock of everybody who is seen to have a key of it.
func (a *app) unlockAll(ctx context.Context, c *cluster, name string, yes bool) error {
	holdings, err := c.Inspect(ctx, name)
	if err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
		return failure(err)
	}
	v := judge(holdings)
	if !a.quiet {
		if err := printTable(a.out, holdings, v); err != nil {
			return failure(err)
		}
	}
	tokens := seen(holdings)
	if len(tokens) == 0 {
		return v.exit(name, holdings)
	}
	if !yes && !a.confirmed(fmt.Sprintf("Free %q? Its holder may be at work.", name)) {
		return &exitError{code: exitNotHeld, outcome: failed, err: fmt.Errorf("unlock %q: left as it is", name)}
	}
	var failed error
	for _, token := range tokens {
		// Of a token that holds a minority, the rest says that it does not hold the
		// lock; it is freed of it all the same.
		if err := c.Unlock(ctx, name, token); err != nil && !errors.Is(err, redlock.ErrNotHeld) {
			failed = failure(err)
		}
	}
	return failed
}

// seen returns the tokens that hold a key somewhere, each once.
func seen(holdings []redlock.Holding) []string {
	var tokens []string
	for _, h := range holdings {
		if h.Token != "" && !slices.Contains(tokens, h.Token) {
			tokens = append(tokens, h.Token)
		}
	}
	return tokens
}
