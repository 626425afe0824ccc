package redistest

import "os"

// Pid returns the id of the server's process.
func (m *Master) Pid() int {
	m.t.Helper()
	return m.running().cmd.Process.Pid
}

// Kill ends the process with SIGKILL: nothing is saved, no connection is closed in
// good order. It returns when the process is gone and its port refuses.
func (m *Master) Kill() {
	m.t.Helper()
	p := m.running()
	p.kill()
	m.process = nil
	if !p.killed() || !m.Refuses() {
		m.t.Fatalf("master %s is not gone after SIGKILL: %v", m.addr, p.cmd.ProcessState)
	}
}

// Restart starts the master again, on the same port and in the same directory, after
// killing it if it runs. It comes back empty unless it was started with [AOF].
func (m *Master) Restart() {
	m.t.Helper()
	before := m.run
	if m.process != nil {
		m.Kill()
	}
	// Somebody's outgoing connection may sit on the port for a moment.
	if !Poll(m.launch) {
		m.t.Fatalf("master %s does not start again. The end of its log:\n%s", m.addr, m.log())
	}
	if m.run == before {
		m.t.Fatalf("master %s was not restarted: its run_id is still %s", m.addr, before)
	}
}

// Stop halts the process with SIGSTOP: the master is hung. The kernel still accepts
// connections for it and keeps what is sent, to be executed after Cont.
func (m *Master) Stop() {
	m.t.Helper()
	m.signal(stopSignal)
	if !Poll(m.stopped) {
		m.t.Fatalf("master %s is not stopped after SIGSTOP", m.addr)
	}
}

// Cont lets a stopped process go on.
func (m *Master) Cont() {
	m.t.Helper()
	m.signal(contSignal)
	if !Poll(func() bool { return !m.stopped() }) || !m.Answers() {
		m.t.Fatalf("master %s does not go on after SIGCONT", m.addr)
	}
}

func (m *Master) signal(s os.Signal) {
	m.t.Helper()
	if err := m.running().cmd.Process.Signal(s); err != nil {
		m.t.Fatalf("master %s: %v: %v", m.addr, s, err)
	}
}

func (m *Master) stopped() bool {
	m.t.Helper()
	yes, err := stopped(m.Pid())
	if err != nil {
		m.t.Fatalf("master %s: state of its process: %v", m.addr, err)
	}
	return yes
}

func (m *Master) running() *process {
	m.t.Helper()
	if m.process == nil {
		m.t.Fatalf("master %s was killed and not restarted", m.addr)
	}
	return m.process
}
