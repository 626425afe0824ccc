//go:build unix && !aix && !solaris

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is the command and its process group: all that it starts, unless that moves
// to a group of its own.
type group struct {
	pid      int // of the command, and so of the group
	events   chan event
	terminal *terminal // nil if there is none to hand over
}

// startGroup starts the command. It must be called from the main goroutine.
func startGroup(path string, argv, env []string, stdin, stdout, stderr *os.File) (*group, error) {
	// Linux sends the parent death signal when the thread that started the command
	// ends, which is to be when this process does.
	runtime.LockOSThread()
	adoptOrphans()
	g := &group{events: make(chan event, 16), terminal: openTerminal(stdin)}
	cmd := exec.Cmd{Path: path, Args: argv, Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if g.terminal != nil && g.terminal.ours() && !isPipe(stdout) {
		// The others of a pipeline, a pager say, would lose the terminal by it.
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, g.terminal.fd
		g.terminal.lent = true
	}
	dieWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.pid = cmd.Process.Pid
	if g.terminal != nil {
		// This process is in the background now, and may print and take the terminal
		// back all the same. Not before Start: the command would ignore it too.
		signal.Ignore(unix.SIGTTOU)
	}
	go g.reap()
	return g, nil
}

// reap waits for the command, and for the orphans of its group where these become this
// process's children: a zombie that nobody waits for would count as alive. It ends
// when there is no child left, or with the process.
func (g *group) reap() {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case pid != g.pid:
		case s.Stopped():
			g.events <- event{stopped: s.StopSignal()}
		case s.Exited():
			g.events <- event{ended: &status{code: s.ExitStatus()}}
		case s.Signaled():
			g.events <- event{ended: &status{code: exitSignal + int(s.Signal()), signal: s.Signal()}}
		}
	}
}

// gone reports whether no process of the group is left. The command itself must have
// been waited for.
func (g *group) gone() bool {
	return errors.Is(unix.Kill(-g.pid, 0), unix.ESRCH)
}

// signal passes s on. That there is nobody left to get it is no error, and that one
// who took other rights can't be signalled shows when the group is not gone.
func (g *group) signal(s os.Signal) {
	if n, ok := s.(syscall.Signal); ok {
		_ = unix.Kill(-g.pid, n)
	}
}

// terminate asks the group to end. One that is stopped must go on to do so.
func (g *group) terminate() {
	g.signal(unix.SIGTERM)
	g.signal(unix.SIGCONT)
}

func (g *group) kill() { g.signal(unix.SIGKILL) }

func (g *group) stop() { g.signal(unix.SIGSTOP) }

// resume continues the group, in the foreground if this process was put there.
func (g *group) resume() {
	if g.terminal != nil && g.terminal.lent && g.terminal.ours() {
		g.terminal.lend(g.pid)
	}
	g.signal(unix.SIGCONT)
}

// onStop follows a command that was stopped from its terminal: the shell, which only
// sees this process, must get the terminal back. A command that was stopped by
// somebody else stays so, under the lock, until they continue it.
func (g *group) onStop(s os.Signal, signals chan<- os.Signal) {
	if g.terminal == nil || s == unix.SIGSTOP {
		return
	}
	if s != unix.SIGTSTP && g.terminal.ours() { // it wants the terminal, and may have it
		g.terminal.lend(g.pid)
		g.signal(unix.SIGCONT)
		return
	}
	g.stop() // whoever of the group has not: nobody keeps the lock now
	// A script that this process was started from must stop too. Ctrl-Z would have
	// reached it, had the command not been the foreground job.
	signal.Ignore(unix.SIGTSTP)
	_ = unix.Kill(0, unix.SIGTSTP)
	signal.Notify(signals, unix.SIGTSTP)
	stopSelf()
}

func (g *group) giveBackTerminal() {
	if g.terminal != nil {
		g.terminal.takeBack(g.pid)
	}
}

// stopSelf stops this process until it gets CONT, which arrives as a signal too.
func stopSelf() {
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
}

// Signals that end the wait for the lock, and are passed on to the command.
var ending = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}

// listen has the signals sent to c that this process is to follow before the command runs.
func listen(c chan<- os.Signal) {
	for _, s := range append(ending, unix.SIGWINCH, unix.SIGCONT) {
		// nohup, and a shell's background jobs, have theirs ignored. So does the command.
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}

// listenToStops adds those that would otherwise stop this process alone.
func listenToStops(c chan<- os.Signal) {
	signal.Notify(c, unix.SIGTSTP)
}

func endsWait(s os.Signal) bool { return s != unix.SIGWINCH && s != unix.SIGCONT }

func isStop(s os.Signal) bool { return s == unix.SIGTSTP }

func isContinue(s os.Signal) bool { return s == unix.SIGCONT }
