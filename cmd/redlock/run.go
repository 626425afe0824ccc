package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorumlock/redlock-go/clock"
	"github.com/quorumlock/redlock-go/redlock"
)

const runHelp = `Run CMD while holding the lock NAME, and let go when it has ended.

What follows -- is executed as it stands, without a shell. The command has this
process's standard streams, and a process group of its own, which INT, TERM, HUP, QUIT,
USR1, USR2 and WINCH are passed on to. In a terminal it is the foreground job. A stop
(TSTP, Ctrl-Z) stops it with its group, and CONT continues it only if the lock is still
held: nobody keeps the lock alive while redlock itself is stopped.

The lock is kept alive. Where that can't be done, the whole group is ended before the
lock could be another's: by TERM, --kill-grace before that, and then by KILL. Where no
time is left, as after a suspend or when the lock was taken away, KILL comes at once.
With --on-lost kill there is no TERM; with --on-lost warn nothing is ended, and two can
be at work at once.

When the command ends by itself, whatever it left running in its group is ended too,
by TERM and after --kill-grace by KILL, before the lock is free. Processes that moved
to a group or session of their own are not waited for, and not ended. If redlock itself
is killed, the command is killed with it on Linux (not its children, nor a setuid
program such as sudo), and nowhere else; the lock is free when its ttl has passed. On
Windows there are no groups and no signals: only the command itself is ended.

The command finds REDLOCK_NAME, REDLOCK_TOKEN and REDLOCK_TTL_MS (with --fence,
REDLOCK_FENCE too) in its environment, and REDLOCK_HELD, a JSON list of all NAMEs that
are held around it: running redlock on one of these again would wait for itself, and is
refused (64).

Exit code: the command's own, or 128+n if signal n ended it, and
   64  wrong usage
   69  no quorum: too few masters answer
   75  not acquired: another holds the lock (-E changes this code)
   76  the lock was lost while the command ran, whatever it returned
   78  the masters as they are can't make the promise, or were never initialised
  126  CMD can't be executed
  127  CMD is not found
128+n  signal n came while redlock waited for the lock
redlock prints nothing when the command ends by itself, and one line when something
else happens.`

// defaultTTL leaves room for the default --kill-grace and for several tries to extend.
const (
	defaultTTL   = 15 * time.Second
	defaultGrace = 5 * time.Second
)

// runFlags are what run is asked for.
type runFlags struct {
	ttl      time.Duration
	wait     time.Duration
	once     bool
	conflict int
	grace    time.Duration
	onLost   policy
	json     string

	waitSet  bool // --wait was given: else it is without end
	graceSet bool
	ttlSet   bool
}

func (a *app) runCommand() *cobra.Command {
	f := runFlags{onLost: terminate}
	cmd := &cobra.Command{
		Use:   "run [flags] NAME -- CMD [ARG...]",
		Short: "Run a command while holding a lock",
		Long:  runHelp,
		Example: `  redlock run nightly-report -- ./report.sh
  redlock run -n -E 0 cleanup -- sh -c 'rm -rf /var/spool/x/*'   # skip it if it runs already
  redlock run --wait 1m --json end.json deploy -- make deploy`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash < 0 || dash == len(args) {
				return usage("which command? Write run NAME -- CMD")
			} else if err := named(cmd, args[:dash]); err != nil {
				return err
			}
			f.waitSet = cmd.Flags().Changed("wait")
			f.graceSet = cmd.Flags().Changed("kill-grace")
			f.ttlSet = cmd.Flags().Changed("ttl")
			return a.runUnder(cmd.Context(), args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.ttl, "ttl", defaultTTL, "how soon the lock is free after this process dies; at most --max-ttl")
	flags.DurationVarP(&f.wait, "wait", "w", 0, "wait for the lock at most this long, 0 for not at all (default without end)")
	flags.BoolVarP(&f.once, "no-wait", "n", false, "try once, as --wait 0")
	flags.IntVarP(&f.conflict, "conflict-exit-code", "E", exitNotAcquired, "exit with `N` when another holds the lock")
	flags.DurationVar(&f.grace, "kill-grace", defaultGrace, "time between TERM and KILL; the default is cut to what fits in the ttl")
	flags.Var(&f.onLost, "on-lost", "what the command gets when the lock can't be kept: term, kill or warn")
	flags.BoolVar(&a.masters.fence, "fence", false, "give the command a number (REDLOCK_FENCE) by which what it writes to can tell it from older holders")
	flags.StringVar(&f.json, "json", "", "write to `FILE` how it ended")
	cmd.MarkFlagsMutuallyExclusive("wait", "no-wait")
	return cmd
}

// validate fills in what depends on other flags, and refuses what can't be done.
func (f *runFlags) validate(maxTTL time.Duration) error {
	if !f.ttlSet {
		f.ttl = min(f.ttl, maxTTL)
	}
	f.once = f.once || f.waitSet && f.wait == 0
	switch longest := longestGrace(f.ttl); {
	case f.ttl < redlock.MinTTL || f.ttl > maxTTL:
		return usage("--ttl is %v: it must be at least %v, and at most --max-ttl, which is %v", f.ttl, redlock.MinTTL, maxTTL)
	case f.wait < 0:
		return usage("--wait is %v: it can't be negative", f.wait)
	case f.conflict < 0 || f.conflict > 255:
		return usage("-E is %d: exit codes go from 0 to 255", f.conflict)
	case f.grace < 0:
		return usage("--kill-grace is %v: it can't be negative", f.grace)
	case !f.graceSet:
		f.grace = min(f.grace, longest)
	case f.grace > longest:
		return usage("--kill-grace is %v: at most %v fits in a ttl of %v, so that the lock can be extended before the command must be ended", f.grace, longest, f.ttl)
	}
	return nil
}

// safety is how long before the end of the validity everything must be dead: KILL
// takes a moment, and so does this process when the machine is busy.
func safety(ttl time.Duration) time.Duration {
	return min(ttl/20, 500*time.Millisecond)
}

// longestGrace is what can lie between TERM and KILL. The lease is extended at a third
// of its ttl, and must have the time until its half to try again.
func longestGrace(ttl time.Duration) time.Duration {
	validity := clock.DefaultDrift.Deadline(0, ttl).Sub(0)
	return max(0, validity-ttl/2-safety(ttl)).Truncate(time.Millisecond)
}

// job is one run of a command under a lock.
type job struct {
	*app
	runFlags
	name    string
	argv    []string
	path    string // of the executable
	cluster *cluster
	ledger  ledger
	signals chan os.Signal
	report  *report
}

// runUnder runs argv under the lock, and reports how that ended.
func (a *app) runUnder(ctx context.Context, name string, argv []string, f runFlags) error {
	report, err := newReport(f.json, name)
	if err != nil {
		return err
	}
	if err := cmp.Or(f.validate(a.masters.maxTTL), refuseNested(name)); err != nil {
		return report.write(err)
	}
	j := &job{app: a, runFlags: f, name: name, argv: argv, signals: make(chan os.Signal, 64), report: report}
	return report.write(j.run(ctx))
}

func (j *job) run(ctx context.Context) error {
	// Before the lock, so that a typing error does not wait for it.
	path, err := exec.LookPath(j.argv[0])
	if err != nil {
		return j.cannotStart(err)
	}
	j.path = path
	if j.cluster, err = j.open(j.ledger.trace(j.app)); err != nil {
		return err
	}
	defer j.cluster.close()

	listen(j.signals)
	defer signal.Stop(j.signals)
	asked := clock.System.Now()
	lease, err := j.acquire(ctx)
	if err != nil {
		return j.notAcquired(err)
	}
	acquired := clock.System.Now()
	j.report.AcquiredAfter = milliseconds(acquired.Sub(asked))
	j.report.token(lease.Token())
	j.report.Fence = lease.Fence()
	err = j.hold(ctx, lease)
	j.report.HeldFor = milliseconds(clock.System.Now().Sub(acquired))
	return err
}

// hold runs the command while lease is kept alive, and lets go when its group is gone.
func (j *job) hold(ctx context.Context, lease *redlock.Lease) error {
	keeping, stop := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() { kept <- lease.KeepAlive(keeping) }()

	w := &watch{job: j, lease: lease}
	err := w.start()
	if err == nil {
		w.untilGone()
	}
	if !lease.Valid() && w.lost == nil {
		w.lost = w.reason()
	}
	stop()
	<-kept // reason says what its error does
	released := lease.Release(ctx)
	if err != nil {
		return err
	}
	w.released(released)
	return w.conclude()
}

// cannotStart is the end of a command that can't be executed, as a shell has it.
func (j *job) cannotStart(err error) error {
	code := exitNotExecuted
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = exitNotFound
	}
	if why, ok := errors.AsType[*fs.PathError](err); ok {
		err = why.Err
	} else if why, ok := errors.AsType[*exec.Error](err); ok {
		err = why.Err
	}
	return &exitError{code: code, outcome: notStarted, err: fmt.Errorf("run %q: %s: %w", j.name, j.argv[0], err)}
}

func (j *job) notAcquired(err error) error {
	if e, ok := errors.AsType[*redlock.Error](err); ok {
		j.report.votes(e.Votes)
	}
	if sig, ok := errors.AsType[signalError](err); ok {
		return &exitError{code: exitSignal + number(sig.Signal), outcome: interrupted, err: err}
	}
	end := failure(err)
	if end.outcome == notAcquired {
		end.code = j.conflict
	}
	return end
}

// short makes a duration fit for reading, and never more than it is.
func short(d time.Duration) time.Duration {
	return cmp.Or(d.Truncate(100*time.Millisecond), d.Truncate(time.Millisecond))
}
