package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// addYes adds the flag of those who need not be asked.
func addYes(flags *pflag.FlagSet, yes *bool) {
	flags.BoolVarP(yes, "yes", "y", false, "don't ask")
}

// canAsk refuses what asks first where nobody can answer.
func (a *app) canAsk(yes bool, what string) error {
	if !yes && !isTerminal(a.in) {
		return usage("%s asks first, and there is no terminal: add --yes if you mean it", what)
	}
	return nil
}

// confirmed asks at the terminal.
func (a *app) confirmed(question string) bool {
	_, _ = fmt.Fprint(a.err, question+" [y/N] ")
	answer, _ := bufio.NewReader(a.in).ReadString('\n') // an end of input is no yes
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// agreed says what the operator's word is taken for, and returns whether it is given.
func (a *app) agreed(yes bool, asserts []string) bool {
	if !yes || !a.quiet {
		_, _ = fmt.Fprintln(a.err, strings.Join(asserts, "\n"))
	}
	return yes || a.confirmed("Is that so?")
}
