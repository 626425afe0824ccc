//go:build !unix || aix || solaris

package main

import (
	"os"
	"os/exec"
	"os/signal"
)

// group is the command alone: there are no process groups here, or none that this
// program knows how to use.
type group struct {
	pid    int
	events chan event
	cmd    *exec.Cmd
}

func startGroup(path string, argv, env []string, stdin, stdout, stderr *os.File) (*group, error) {
	g := &group{events: make(chan event, 1)}
	g.cmd = &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	g.pid = g.cmd.Process.Pid
	go func() {
		_ = g.cmd.Wait() // the state tells
		g.events <- event{ended: &status{code: g.cmd.ProcessState.ExitCode()}}
	}()
	return g, nil
}

// gone is asked when the command has ended.
func (g *group) gone() bool { return true }

// signal does nothing: a console sends Ctrl-C to the command too.
func (g *group) signal(os.Signal) {}

// terminate does nothing: nothing asks a process to end here, and KILL follows.
func (g *group) terminate() {}

func (g *group) kill() { _ = g.cmd.Process.Kill() }

func (g *group) stop() {}

func (g *group) resume() {}

func (g *group) onStop(os.Signal, chan<- os.Signal) {}

func (g *group) giveBackTerminal() {}

func stopSelf() {}

func listen(c chan<- os.Signal) { signal.Notify(c, os.Interrupt) }

func listenToStops(chan<- os.Signal) {}

func endsWait(os.Signal) bool { return true }

func isStop(os.Signal) bool { return false }

func isContinue(os.Signal) bool { return false }

// isTerminal reports whether somebody can answer a question there.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
