package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// masters are redis-server processes of this run.
type masters struct {
	all []*server
	dir string
}

type server struct {
	addr string
	args []string
	cmd  *exec.Cmd
}

func startMasters(n int) (*masters, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("redis-server is not on PATH: install it (Debian: redis-server, Homebrew: redis)")
	}
	m := &masters{}
	if m.dir, err = os.MkdirTemp("", "redlock-bench-"); err != nil {
		return nil, err
	}
	for range n {
		s, err := startServer(path, m.dir)
		if err != nil {
			m.stop()
			return nil, err
		}
		m.all = append(m.all, s)
	}
	return m, nil
}

// startServer tries a few ports: another process can take one between its choice and
// the server's start.
func startServer(path, dir string) (*server, error) {
	for range 10 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		_ = l.Close()
		s := &server{addr: "127.0.0.1:" + port, args: []string{path, "--port", port, "--bind", "127.0.0.1",
			"--dir", dir, "--save", "", "--appendonly", "no", "--logfile", "/dev/null"}}
		if s.start() == nil {
			return s, nil
		}
	}
	return nil, errors.New("redis-server does not start")
}

func (s *server) start() error {
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	for range 500 {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			return c.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.kill()
	return fmt.Errorf("nobody listens on %s", s.addr)
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (m *masters) addrs() []string {
	var a []string
	for _, s := range m.all {
		a = append(a, s.addr)
	}
	return a
}

func (m *masters) stop() {
	for _, s := range m.all {
		s.kill()
	}
	_ = os.RemoveAll(m.dir)
}

func (m *masters) last() *server { return m.all[len(m.all)-1] }

func (m *masters) withOneDead() ([]string, func(), error) {
	m.last().kill()
	return m.addrs(), func() { _ = m.last().start() }, nil
}

func (m *masters) withOneHung() ([]string, func(), error) {
	p := m.last().cmd.Process
	err := p.Signal(syscall.SIGSTOP)
	return m.addrs(), func() { _ = p.Signal(syscall.SIGCONT) }, err
}

func (m *masters) withDelay() ([]string, func(), error) {
	var addrs []string
	var all []*delayed
	undo := func() {
		for _, d := range all {
			d.close()
		}
	}
	for _, s := range m.all {
		d, err := delay(s.addr, 500*time.Microsecond)
		if err != nil {
			undo()
			return nil, nil, err
		}
		all, addrs = append(all, d), append(addrs, d.listener.Addr().String())
	}
	return addrs, undo, nil
}
