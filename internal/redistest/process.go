package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// Process is a child of the test binary.
type Process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed once it has ended and was waited for
}

// Spawn starts a child that dies with the test binary, where the system allows that. What it
// writes to standard error goes to that of the test.
//
// Linux sends the death signal when the *thread* that started the child ends, which
// Go does with threads as it likes. So one goroutine keeps the thread for as long as
// the child lives.
func Spawn(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, gone: make(chan struct{})}
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.Stderr = os.Stderr
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.gone)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	return p, <-started
}

// Kill sends SIGKILL and waits until the process is gone. It may be gone already.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // safe after Wait: the id is not used again by os.Process
	<-p.gone
}

// Stop halts the process with SIGSTOP, and returns when it stands still.
func (p *Process) Stop() error { return p.halt(stopSignal, true) }

// Cont lets a stopped process go on.
func (p *Process) Cont() error { return p.halt(contSignal, false) }

func (p *Process) halt(s os.Signal, want bool) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return err
	}
	var is bool
	var err error
	if !Poll(func() bool { is, err = stopped(p.cmd.Process.Pid); return err != nil || is == want }) {
		return fmt.Errorf("process %d: stopped is %v after %v", p.cmd.Process.Pid, is, s)
	}
	return err
}

// Gone returns a channel that is closed once the process has ended, and how it ended then.
func (p *Process) Gone() (ended <-chan struct{}, how func() string) {
	return p.gone, func() string { return p.cmd.ProcessState.String() }
}

// killed reports whether a signal ended the process.
func (p *Process) killed() bool {
	<-p.gone
	return p.cmd.ProcessState.ExitCode() == -1
}

// answers waits until this very process answers at addr, and returns its run_id; ""
// if it ended instead. What answers there may be another process, which had the port
// first: process_id tells.
func (p *Process) answers(addr string) (run string) {
	c := newClient(addr)
	defer func() { _ = c.Close() }()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	Poll(func() bool {
		if !listens(addr) { // go-redis would print that it can't dial
			return p.isGone()
		}
		info := c.Info(context.Background(), "server", "persistence").Val()
		if Field(info, "process_id") == pid && Field(info, "loading") == "0" {
			run = Field(info, "run_id")
		}
		return run != "" || p.isGone()
	})
	return run
}

func (p *Process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}
