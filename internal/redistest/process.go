package redistest

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
)

// process is a child of the test binary.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed once it has ended and was waited for
}

// spawn starts a child that dies with the test binary, where the system allows that.
// Linux sends the death signal when the *thread* that started the child ends, which
// Go does with threads as it likes. So one goroutine keeps the thread for as long as
// the child lives.
func spawn(env []string, path string, args ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), gone: make(chan struct{})}
	p.cmd.SysProcAttr = dieWithParent()
	p.cmd.Env = append(os.Environ(), env...)
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

// kill sends SIGKILL and waits until the process is gone. It may be gone already.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // safe after Wait: the id is not used again by os.Process
	<-p.gone
}

// killed reports whether a signal ended the process.
func (p *process) killed() bool {
	<-p.gone
	return p.cmd.ProcessState.ExitCode() == -1
}

// answers waits until this very process answers at addr, and returns its run_id; ""
// if it ended instead. What answers there may be another process, which had the port
// first: process_id tells.
func (p *process) answers(addr string) (run string) {
	c := newClient(addr)
	defer func() { _ = c.Close() }()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	Poll(func() bool {
		if !listens(addr) { // go-redis would print that it can't dial
			return p.isGone()
		}
		info := c.Info(context.Background(), "server", "persistence").Val()
		if field(info, "process_id") == pid && field(info, "loading") == "0" {
			run = field(info, "run_id")
		}
		return run != "" || p.isGone()
	})
	return run
}

func (p *process) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}
