package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const rootHelp = `redlock holds a distributed lock over independent Redis masters while a command runs.

  redlock run nightly-report -- ./report.sh

Name the masters, three or five of them, in one of these ways. Give an address as
"host:port", or as a redis:// or rediss:// URL.

  --masters a:6379,b:6379,c:6379      separated by commas or spaces
  REDLOCK_MASTERS=...                 the same, in the environment
  --masters-file FILE                 one a line; lines that begin with # are comments
  --embedded                          five masters inside this process, to try it out

Masters are initialised once, by redlock init, before any lock is taken on them; redlock
doctor shows what each is like.

URLs with passwords belong into the environment or a file: the arguments of a command
can be read by everybody on the machine.`

// app is what all commands share: the streams, and the global flags.
type app struct {
	in, out, err *os.File

	masters masters
	quiet   bool
	verbose bool
	story   *story
}

// run is the whole program; it returns the exit code.
func run(args []string, stdin, stdout, stderr *os.File) int {
	a := &app{in: stdin, out: stdout, err: stderr, story: newStory(stderr)}
	root := a.command()
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	a.story.end()
	return a.conclude(err)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:               "redlock",
		Short:             "Run a command under a distributed lock",
		Long:              rootHelp,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.DisableSuggestions = true // an error is one line

	flags := root.PersistentFlags()
	a.masters.addTo(flags)
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print nothing but the line that says why the command failed")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "tell the whole story on standard error")
	root.MarkFlagsMutuallyExclusive("quiet", "verbose")
	root.MarkFlagsMutuallyExclusive("masters", "masters-file", "embedded")

	root.AddCommand(a.runCommand(), a.statusCommand(), a.unlockCommand(),
		a.doctorCommand(), a.initCommand(), a.replaceCommand(), a.labCommand())
	return root
}

// named checks that a command was given one NAME and nothing else.
func named(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage("which lock? Give its NAME")
	case len(args) > 1:
		return usage("one NAME at a time: %d arguments were given", len(args))
	case args[0] == "":
		return usage("the NAME is empty")
	}
	return nil
}

// note prints a line that --quiet suppresses.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.story.tell(fmt.Sprintf(format, args...))
	}
}

// detail prints a line that only --verbose shows.
func (a *app) detail(format string, args ...any) {
	if a.verbose {
		a.story.tell(fmt.Sprintf(format, args...))
	}
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(unknown)"
}
